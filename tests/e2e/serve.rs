//! Server from a caller's view: authentication, errors, answers.

use crate::{
    run::{Sandbox, eventually, run},
    served::{Answer, Served, TOKEN, fill, started},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

#[test]
fn requests_need_the_token() {
    let (_sandbox, served) = started();
    for path in ["/api/v1/health", "/api/v1/openapi.json"] {
        assert_eq!(served.with("GET", path, &[], "").status, 200, "{path}");
    }
    let right = format!("authorization: Bearer {TOKEN}");
    for wrong in [
        "authorization: Bearer a-token-for-one-tesu",
        "authorization: Bearer",
        "authorization: Basic eDp5",
        "x: y",
    ] {
        for path in ["/api/v1/projects", "/nothing"] {
            let answer = served.with("GET", path, &[wrong], "");
            assert_eq!(
                (answer.status, answer.headers["www-authenticate"].as_str()),
                (401, "Bearer realm=\"crawl\"")
            );
        }
    }
    assert_eq!(
        served.with("GET", "/api/v1/projects", &[&right, &right], "").status,
        401,
        "which of the two?"
    );
    assert_eq!(served.ask("GET", "/api/v1/projects").status, 200);
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let (_sandbox, served) = started();
    let token = format!("authorization: Bearer {TOKEN}");
    // a foreign name that resolves to this machine
    for host in [
        "host: evil.example",
        "host: evil.example:8620",
        "host: 127.0.0.1.evil.example",
        "host: [::1].evil.example",
        "host: localhost:@evil.example",
    ] {
        assert_eq!(served.with("GET", "/api/v1/health", &[host, &token], "").status, 421);
    }
    assert_eq!(served.with("GET", "/api/v1/health", &["host: localhost:1"], "").status, 200);
    for origin in ["origin: http://evil.example", "origin: null", "origin: http://127.0.0.1:1"] {
        assert_eq!(served.with("POST", "/api/v1/projects", &[origin, &token], "{}").status, 403);
    }
    let own = format!("origin: http://{}", served.address);
    assert_eq!(served.with("GET", "/api/v1/projects", &[&own, &token], "").status, 200);
    let answer = served.with("OPTIONS", "/api/v1/projects", &["origin: http://evil.example"], "");
    assert!(!answer.headers.keys().any(|name| name.starts_with("access-control")), "{:?}", answer.headers);
    assert_eq!(served.raw("GET /api/v1/health HTTP/1.1\r\nconnection: close\r\n\r\n").status, 400, "no host");
}

#[test]
fn every_error_is_a_problem_document() {
    let (_sandbox, served) = started();
    let nothing = served.ask("GET", "/nothing");
    assert!(nothing.body["detail"].as_str().unwrap().contains("/api/v1/openapi.json"), "{}", nothing.body);
    assert_eq!(nothing.status, 404);
    let answer = served.ask("PUT", "/api/v1/projects");
    assert_eq!((answer.status, answer.headers["allow"].as_str()), (405, "GET,HEAD,POST"));
    assert_eq!(served.create("{").status, 400);
    assert_eq!(served.create("{} {}").status, 422, "a field is missing, which is said first");
    assert_eq!(served.create(r#"{"name":"a"} x"#).status, 400);
    assert_eq!(served.post("/api/v1/projects", &[], r#"{"name":"a"}"#).status, 415);
    assert_eq!(served.create(&format!("{{\"name\":\"{}\"}}", "a".repeat(300 << 10))).status, 413);
    let unknown = "/api/v1/projects/0b0c0d0e-0000-4000-8000-000000000000";
    for path in [unknown.to_owned(), format!("{unknown}/sources"), format!("{unknown}/domains")] {
        assert_eq!(served.ask("GET", &path).status, 404, "{path}");
    }
    for path in [
        format!("{unknown}/boilerplate-stats"),
        format!("{unknown}/sources/{}", "0".repeat(32)),
        "/api/v1/jobs/0b0c0d0e-0000-4000-8000-000000000000".into(),
    ] {
        assert_eq!(served.ask("GET", &path).status, 404, "{path}");
    }
    assert_eq!(served.ask("POST", &format!("{unknown}/analyze-boilerplate")).status, 404);
    assert_eq!(served.ask("DELETE", unknown).status, 404);
}

#[test]
fn unusable_parameters_are_named() {
    let (sandbox, served) = started();
    let id = fill(&sandbox, "p", 2);
    let project = format!("/api/v1/projects/{id}");
    let named = |answer: Answer, field: &str| {
        assert_eq!(
            (answer.status, answer.body["errors"][0]["field"].as_str()),
            (422, Some(field)),
            "{}",
            answer.body
        );
    };
    named(served.create("{}"), "name");
    named(served.create(r#"{"name":7}"#), "name");
    named(served.create(r#"{"name":" a"}"#), "name");
    named(served.create(r#"{"name":"a\u0007"}"#), "name");
    named(served.create(r#"{"name":"a","color":"red"}"#), "color");
    named(served.create(r#"{"name":"0b0c0d0e-0000-4000-8000-000000000000"}"#), "name");
    named(served.ask("GET", "/api/v1/projects?limit=101"), "limit");
    named(served.ask("GET", "/api/v1/projects?limit=many"), "limit");
    named(served.ask("GET", "/api/v1/projects?after=-1"), "after");
    named(served.ask("GET", "/api/v1/projects?limt=1"), "limt");
    named(served.ask("GET", &format!("{project}/sources?limit=0")), "limit");
    named(served.ask("GET", &format!("{project}/sources/xyz")), "source_id");
    named(served.ask("GET", "/api/v1/projects/xyz"), "id");
    named(served.ask("GET", "/api/v1/jobs/xyz"), "id");
    named(served.ask("POST", &format!("{project}/analyze-boilerplate?mode=fuzzy")), "mode");
    named(served.ask("POST", &format!("{project}/analyze-boilerplate?min_pages=2.5")), "min_pages");
    named(served.create(r#"["a"]"#), "body");
    named(served.post(&format!("{project}/analyze-boilerplate"), &[], r#"{"mode":"exact"}"#), "body");
    for nothing in ["", "{}", "{ }\n", "null", "\"\""] {
        let answer = served.post(&format!("{project}/analyze-boilerplate"), &[], nothing);
        assert_eq!(answer.status, 200, "{nothing:?}: {}", answer.body);
    }
    let detail = |path: &str| served.ask("GET", path).body["errors"][0]["detail"].clone();
    assert_eq!(detail("/api/v1/jobs/xyz"), "is not a UUID");
    assert_eq!(detail("/api/v1/projects?limit=many"), "is not a whole number");
    assert_eq!(detail("/api/v1/projects?limit=1&limit=2"), "may be given once");
}

#[test]
fn projects_are_made_listed_and_deleted() {
    let (_sandbox, served) = started();
    let made = served.create(r#"{"name":"Antriebe & Wellen"}"#);
    assert_eq!(made.status, 201);
    let path = made.headers["location"].clone();
    assert_eq!(served.get(&path), made.body);
    assert_eq!(served.create(r#"{"name":"Antriebe & Wellen"}"#).status, 409);
    for name in ["b", "c"] {
        assert_eq!(served.create(&json!({ "name": name }).to_string()).status, 201);
    }
    let first = served.get("/api/v1/projects?limit=2");
    assert_eq!(first["projects"][1]["name"], "b");
    let rest = served.get(&format!("/api/v1/projects?limit=2&after={}", first["next"]));
    assert_eq!((rest["projects"][0]["name"].as_str(), &rest["next"]), (Some("c"), &Value::Null));
    assert_eq!(served.ask("DELETE", &path).status, 204);
    assert_eq!(served.ask("GET", &path).status, 404);
}

#[test]
fn pages_are_analysed_and_listed() {
    let (sandbox, served) = started();
    let (id, other) = (fill(&sandbox, "p", 12), fill(&sandbox, "other", 12));
    let project = format!("/api/v1/projects/{id}");
    assert_eq!(served.get(&format!("{project}/domains"))[1], json!({"domain": "h1.example", "pages": 6}));
    assert_eq!(served.get(&format!("{project}/boilerplate-stats")), json!([]));
    let done = served.ask(
        "POST",
        &format!("{project}/analyze-boilerplate?mode=exact&threshold_pct=0.5&min_block_chars=40"),
    );
    assert_eq!(done.status, 200);
    let footer = "This office is open on weekdays from eight to four, says every sheet.".len();
    let of = |n: u64| {
        json!({"domain": format!("h{n}.example"), "pages_analyzed": 6, "pages_cleaned": 6,
        "blocks_boilerplate": 1, "bytes_removed_total": 6 * footer})
    };
    assert_eq!(
        done.body,
        json!({"domains_analyzed": 2, "domains_with_boilerplate": 2, "total_pages_cleaned": 12,
            "total_bytes_removed": 12 * footer, "domain_results": [of(0), of(1)]})
    );
    let stats = served.get(&format!("{project}/boilerplate-stats?domain=h1.example&hashes=true"));
    let row = &stats.as_array().unwrap()[0];
    for (key, value) in [
        ("pages_analyzed", json!(6)),
        ("blocks_boilerplate", json!(1)),
        ("bytes_removed_avg", json!(footer)),
        ("threshold_pct", json!(0.5)),
        ("min_pages", json!(5)),
        ("min_block_chars", json!(40)),
        ("mode", json!("exact")),
    ] {
        assert_eq!(row[key], value, "{key}");
    }
    assert_eq!(row["boilerplate_hashes"][0].as_str().unwrap().len(), 16);
    assert!(served.get(&format!("{project}/boilerplate-stats"))[0]["boilerplate_hashes"].is_null());
    // the pages in parts, by domain and by group
    let first = served.get(&format!("{project}/sources?limit=5"));
    assert_eq!(first["sources"].as_array().unwrap().len(), 5);
    let source = &first["sources"][0];
    assert!(source["content"].as_str().unwrap().contains("every sheet"));
    assert_eq!(source["cleaned_content"].as_str().unwrap().trim_end(), "Sheet 0 has words of its own.");
    assert_eq!((&source["metadata"]["title"], &source["source_group"]), (&json!("A sheet"), &json!("news")));
    let path = format!("{project}/sources/{}", source["id"].as_str().unwrap());
    assert_eq!(served.get(&path), *source);
    let rest = served.get(&format!("{project}/sources?after={}", first["next"]));
    assert_eq!((rest["sources"].as_array().unwrap().len(), &rest["next"]), (7, &Value::Null));
    let of_shop = served.get(&format!("{project}/sources?source_groups=shop&source_groups=none&limit=100"));
    assert_eq!(of_shop["sources"].as_array().unwrap().len(), 6);
    // another project's pages
    assert_eq!(served.get(&format!("/api/v1/projects/{other}/boilerplate-stats")), json!([]));
    let only_news = served.ask("POST", &format!("{project}/analyze-boilerplate?source_groups=news"));
    assert_eq!(only_news.body["domains_analyzed"], 1);
}

#[test]
fn background_analysis_can_be_requested() {
    let (sandbox, served) = started();
    let path = format!("/api/v1/projects/{}/analyze-boilerplate?mode=exact", fill(&sandbox, "p", 400));
    let begun = served.post(&path, &["prefer: respond-async"], "");
    assert_eq!((begun.status, begun.headers["preference-applied"].as_str()), (202, "respond-async"));
    let job = begun.headers["location"].clone();
    assert_eq!(job, format!("/api/v1/jobs/{}", begun.body["id"].as_str().unwrap()));
    let mut told = Value::Null;
    eventually("the analysis ends", || {
        told = served.get(&job);
        told["status"] == "done"
    });
    assert_eq!(
        told["progress"],
        json!({"domains_total": 2, "domains_done": 2, "pages_total": 400, "pages_done": 400})
    );
    assert_eq!(told["result"]["total_pages_cleaned"], 400);
    // with a wait of some seconds, the answer follows as soon as it is ready
    assert_eq!(served.post(&path, &["prefer: respond-async, wait=60"], "").status, 200);
    assert_eq!(served.ask("DELETE", &job).status, 202, "it has ended, and may still be told so");
}

#[test]
fn token_is_created_shown_once_and_kept() {
    let sandbox = Sandbox::new();
    let first = Served::start(&sandbox, &[]);
    let said = first.run.stderr_so_far();
    let line = said.lines().find(|l| l.starts_with("token (shown once")).unwrap();
    let token = line.rsplit(' ').next().unwrap().to_owned();
    let bearer = format!("authorization: Bearer {token}");
    assert_eq!(first.with("GET", "/api/v1/projects", &[&bearer], "").status, 200);
    first.run.signal("TERM");
    first.run.wait().expect(0);
    let file = sandbox.path(".local/state/crawl/serve-token");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = Served::start(&sandbox, &[]);
    assert!(!again.run.stderr_so_far().contains(&token), "shown once");
    assert_eq!(again.with("GET", "/api/v1/projects", &[&bearer], "").status, 200);
    // a token that can be guessed, and a missing one
    sandbox.write("short", "abc\n");
    run(sandbox.bare().args(["serve", "--token-file", "short"])).expect(2);
    run(sandbox.bare().args(["serve", "--token-file", "missing"])).expect(2);
    run(sandbox.bare().args(["serve", "--listen", &again.address])).expect(2);
}

#[test]
fn openapi_document_states_the_setting_ranges() {
    let document = serde_json::to_value(crawl_server::rest::document()).unwrap();
    let parameters = &document["paths"]["/api/v1/projects/{id}/analyze-boilerplate"]["post"]["parameters"];
    for range in [
        crawl_dedup::FingerprintSettings::THRESHOLD_PCT,
        crawl_dedup::FingerprintSettings::MIN_PAGES,
        crawl_dedup::FingerprintSettings::MIN_BLOCK_CHARS,
    ] {
        let found = parameters.as_array().unwrap().iter().find(|p| p["name"] == range.name).unwrap();
        let bound = |key: &str| found["schema"][key].as_f64().unwrap();
        assert_eq!((bound("minimum"), bound("maximum")), (range.least, range.most), "{}", range.name);
    }
}
