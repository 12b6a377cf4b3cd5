//! The contract of [`ProjectStore`]: every test runs on every backend; `durable.rs` tests the guarantees of
//! SQLite alone.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod durable;

use crawl_model::{
    AnalysisPage, DomainFindings, NewSource, ProjectId, ProjectStore, Source, SourceQuery, UrlKey,
};
use crawl_store::{MemoryProjects, SqliteProjects};

macro_rules! conformance {
    ($($name:ident),+ $(,)?) => {
        mod memory {
            $(#[test] fn $name() { super::$name(&super::MemoryProjects::new()); })+
        }
        mod sqlite {
            $(#[test] fn $name() {
                let dir = tempfile::tempdir().unwrap();
                super::$name(&super::SqliteProjects::open(&dir.path().join("p.sqlite")).unwrap());
            })+
        }
    };
}

conformance!(
    project_names_are_unique,
    projects_are_listed_in_order_with_paging,
    page_is_stored_once_per_url,
    unchanged_page_keeps_its_cleaned_content,
    pages_of_other_projects_are_separate,
    deleting_a_project_deletes_all_its_data,
    pages_are_listed_by_domain_and_group_with_paging,
    page_listing_ends_at_its_byte_limit,
    analysis_reads_a_snapshot_and_writes_on_commit,
    dropped_analysis_changes_nothing,
    page_changed_during_an_analysis_keeps_its_text,
    domain_has_one_row_with_a_stable_id,
    an_analysis_of_groups_leaves_the_other_pages,
    analysis_of_a_deleted_project_does_not_commit,
);

fn project(store: &impl ProjectStore, name: &str) -> ProjectId {
    store.create_project(name, 1).unwrap().unwrap().id
}

fn page(path: &str, group: Option<&str>, content: &str) -> NewSource {
    let (domain, _) = path.split_once('/').unwrap();
    NewSource {
        url: format!("https://{path}"),
        domain: domain.into(),
        source_group: group.map(Into::into),
        metadata: r#"{"title":"T","extractor":"density","keywords":["ä"]}"#.into(),
        content: content.into(),
        cleaned_content: None,
    }
}

fn save(store: &impl ProjectStore, id: ProjectId, pages: &[NewSource]) {
    assert!(store.save_sources(id, pages, 5).unwrap());
}

fn all(store: &impl ProjectStore, id: ProjectId) -> Vec<Source> {
    store.sources(id, &SourceQuery { limit: 1_000, max_bytes: usize::MAX, ..SourceQuery::default() }).unwrap()
}

fn findings(domain: &str, pages: u64) -> DomainFindings {
    DomainFindings {
        domain: domain.into(),
        boilerplate_hashes: vec![1, u64::MAX],
        pages_analyzed: pages,
        blocks_total: 9,
        blocks_boilerplate: 2,
        bytes_removed_avg: 77,
        threshold_pct: 0.57,
        min_pages: 3,
        min_block_chars: 40,
        mode: "exact".into(),
        source_groups: vec!["news".into()],
    }
}

/// Stores `cleaned` for every page of every domain, and commits.
fn analyse(
    store: &impl ProjectStore,
    id: ProjectId,
    groups: &[String],
    cleaned: Option<&str>,
    now: i64,
) -> bool {
    let mut analysis = store.begin_analysis(id, groups).unwrap();
    for domain in analysis.domains().unwrap() {
        let mut after = 0;
        let mut seen = 0;
        loop {
            let pages: Vec<AnalysisPage> = analysis.pages(&domain.domain, after).unwrap();
            let Some(last) = pages.last() else { break };
            after = last.number;
            for page in &pages {
                seen += 1;
                analysis.put_page(page, cleaned).unwrap();
            }
        }
        assert_eq!(seen, domain.pages, "pages come each once");
        analysis.put_domain(findings(&domain.domain, seen)).unwrap();
    }
    analysis.commit(now).unwrap()
}

fn project_names_are_unique(store: &impl ProjectStore) {
    let made = store.create_project("drives", 7).unwrap().unwrap();
    assert_eq!((made.name.as_str(), made.sources, made.created_at_ms), ("drives", 0, 7));
    assert_eq!(store.create_project("drives", 8).unwrap(), None);
    assert_eq!(store.project(made.id).unwrap(), Some(made.clone()));
    assert_eq!(store.project_named("drives").unwrap(), Some(made));
    assert_eq!(store.project_named("Drives").unwrap(), None, "names are told apart by case");
}

fn projects_are_listed_in_order_with_paging(store: &impl ProjectStore) {
    for name in ["b", "a", "c"] {
        project(store, name);
    }
    let first = store.projects(0, 2).unwrap();
    let names: Vec<_> = first.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    let rest = store.projects(first[1].number, 2).unwrap();
    assert_eq!((rest.len(), rest[0].name.as_str()), (1, "c"));
}

fn page_is_stored_once_per_url(store: &impl ProjectStore) {
    let id = project(store, "p");
    save(store, id, &[page("a.example/1", None, "one"), page("a.example/2", Some("g"), "two")]);
    let changed = page("a.example/1", Some("h"), "other");
    assert!(store.save_sources(id, std::slice::from_ref(&changed), 9).unwrap());
    let sources = all(store, id);
    assert_eq!(sources.len(), 2);
    assert_eq!(sources[0].page, changed, "the place in the order stays, the page is the new one");
    assert_eq!((sources[0].created_at_ms, sources[0].updated_at_ms), (5, 9));
    assert_eq!(sources[0].id, UrlKey::of("https://a.example/1"));
    assert_eq!(store.source(id, sources[1].id).unwrap().as_ref(), Some(&sources[1]));
    assert_eq!(store.source(id, UrlKey::of("https://a.example/3")).unwrap(), None);
    assert_eq!(store.project(id).unwrap().unwrap().sources, 2);
}

fn unchanged_page_keeps_its_cleaned_content(store: &impl ProjectStore) {
    let id = project(store, "p");
    let with = |content: &str, cleaned: Option<&str>| NewSource {
        cleaned_content: cleaned.map(Into::into),
        ..page("a.example/1", None, content)
    };
    let cleaned = |store: &_| all(store, id).remove(0).page.cleaned_content;
    save(store, id, &[with("text", None)]);
    save(store, id, &[with("text", Some("crawl"))]);
    assert_eq!(cleaned(store).as_deref(), Some("crawl"), "there was none");
    assert!(analyse(store, id, &[], Some("analysis"), 6));
    save(store, id, &[with("text", Some("crawl"))]);
    assert_eq!(cleaned(store).as_deref(), Some("analysis"));
    save(store, id, &[with("new text", Some("crawl"))]);
    assert_eq!(cleaned(store).as_deref(), Some("crawl"));
    save(store, id, &[with("newer text", None)]);
    assert_eq!(cleaned(store), None, "what was left of another text is not this one's");
}

fn pages_of_other_projects_are_separate(store: &impl ProjectStore) {
    let (one, two) = (project(store, "one"), project(store, "two"));
    save(store, one, &[page("a.example/1", None, "of one"), page("b.example/1", None, "x")]);
    save(store, two, &[page("a.example/1", None, "of two"), page("a.example/2", None, "y")]);
    let counts = |id| {
        let domains = store.domains(id, &[]).unwrap();
        domains.into_iter().map(|d| (d.domain, d.pages)).collect::<Vec<_>>()
    };
    assert_eq!(counts(one), [("a.example".to_owned(), 1), ("b.example".to_owned(), 1)]);
    assert_eq!(counts(two), [("a.example".to_owned(), 2)]);
    assert!(analyse(store, one, &[], Some("clean"), 6));
    assert!(all(store, two).iter().all(|s| s.page.cleaned_content.is_none()));
    assert!(store.boilerplate(two, None).unwrap().is_empty());
    assert_eq!(all(store, two)[0].page.content, "of two");
}

fn deleting_a_project_deletes_all_its_data(store: &impl ProjectStore) {
    let (gone, stays) = (project(store, "gone"), project(store, "stays"));
    for id in [gone, stays] {
        save(store, id, &[page("a.example/1", None, "x")]);
        assert!(analyse(store, id, &[], Some("clean"), 6));
    }
    assert!(store.delete_project(gone).unwrap());
    assert!(!store.delete_project(gone).unwrap());
    assert!(all(store, gone).is_empty() && store.boilerplate(gone, None).unwrap().is_empty());
    assert!(store.domains(gone, &[]).unwrap().is_empty());
    assert!(!store.save_sources(gone, &[page("a.example/1", None, "x")], 9).unwrap());
    assert_eq!((all(store, stays).len(), store.boilerplate(stays, None).unwrap().len()), (1, 1));
    let again = project(store, "gone");
    assert!(again != gone && all(store, again).is_empty());
}

fn pages_are_listed_by_domain_and_group_with_paging(store: &impl ProjectStore) {
    let id = project(store, "p");
    let pages: Vec<_> = (0..9)
        .map(|n| {
            let group = [None, Some("news"), Some("shop")][n % 3];
            page(&format!("{}.example/{n}", ["a", "b"][n % 2]), group, "text")
        })
        .collect();
    save(store, id, &pages);
    let mut query = SourceQuery { limit: 2, max_bytes: usize::MAX, ..SourceQuery::default() };
    let mut urls = Vec::new();
    loop {
        let part = store.sources(id, &query).unwrap();
        let Some(last) = part.last() else { break };
        query.after = last.number;
        urls.extend(part.into_iter().map(|s| s.page.url));
    }
    assert_eq!(urls, pages.iter().map(|p| p.url.clone()).collect::<Vec<_>>());
    let count = |domain: Option<&str>, groups: &[&str]| {
        let groups: Vec<String> = groups.iter().map(|&g| g.to_owned()).collect();
        let query =
            SourceQuery { domain: domain.map(Into::into), groups, after: 0, limit: 99, max_bytes: 9_999 };
        store.sources(id, &query).unwrap().len()
    };
    assert_eq!((count(Some("a.example"), &[]), count(Some("c.example"), &[])), (5, 0));
    assert_eq!((count(None, &["news"]), count(None, &["news", "shop"]), count(None, &["none"])), (3, 6, 0));
    assert_eq!(count(Some("b.example"), &["news"]), 2);
    let domains = store.domains(id, &["shop".into()]).unwrap();
    assert_eq!(domains.iter().map(|d| d.pages).collect::<Vec<_>>(), [2, 1]);
}

fn page_listing_ends_at_its_byte_limit(store: &impl ProjectStore) {
    let id = project(store, "p");
    let pages: Vec<_> = (0..4).map(|n| page(&format!("a.example/{n}"), None, &"x".repeat(100))).collect();
    save(store, id, &pages);
    let count = |max_bytes| {
        store.sources(id, &SourceQuery { limit: 9, max_bytes, ..SourceQuery::default() }).unwrap().len()
    };
    assert_eq!([count(1), count(100), count(101), count(10_000)], [1, 1, 2, 4], "one comes in any case");
}

fn analysis_reads_a_snapshot_and_writes_on_commit(store: &impl ProjectStore) {
    let id = project(store, "p");
    save(store, id, &[page("a.example/1", None, "one")]);
    let mut analysis = store.begin_analysis(id, &[]).unwrap();
    save(store, id, &[page("a.example/2", None, "two")]);
    let pages = analysis.pages("a.example", 0).unwrap();
    assert_eq!(pages.len(), 1);
    let AnalysisPage { title, extractor, content, url, .. } = &pages[0];
    assert_eq!((title.as_deref(), extractor.as_deref()), (Some("T"), Some("density")));
    assert_eq!((content.as_str(), url.as_str()), ("one", "https://a.example/1"));
    analysis.put_page(&pages[0], Some("clean")).unwrap();
    analysis.put_domain(findings("a.example", 1)).unwrap();
    assert!(all(store, id).iter().all(|s| s.page.cleaned_content.is_none()));
    assert!(store.boilerplate(id, None).unwrap().is_empty());
    assert!(analysis.commit(6).unwrap());
    let cleaned: Vec<_> = all(store, id).into_iter().map(|s| s.page.cleaned_content).collect();
    assert_eq!(cleaned, [Some("clean".to_owned()), None]);
    assert_eq!(store.boilerplate(id, None).unwrap()[0].findings, findings("a.example", 1));
}

fn dropped_analysis_changes_nothing(store: &impl ProjectStore) {
    let id = project(store, "p");
    save(store, id, &[page("a.example/1", None, "one")]);
    let mut analysis = store.begin_analysis(id, &[]).unwrap();
    let pages = analysis.pages("a.example", 0).unwrap();
    analysis.put_page(&pages[0], Some("clean")).unwrap();
    analysis.put_domain(findings("a.example", 1)).unwrap();
    drop(analysis);
    assert_eq!(all(store, id)[0].page.cleaned_content, None);
    assert!(store.boilerplate(id, None).unwrap().is_empty());
    assert!(analyse(store, id, &[], None, 6), "the next one is not in its way");
}

fn page_changed_during_an_analysis_keeps_its_text(store: &impl ProjectStore) {
    let id = project(store, "p");
    save(store, id, &[page("a.example/1", None, "one"), page("a.example/2", None, "two")]);
    let mut analysis = store.begin_analysis(id, &[]).unwrap();
    for page in analysis.pages("a.example", 0).unwrap() {
        analysis.put_page(&page, Some("of the old text")).unwrap();
    }
    save(store, id, &[page("a.example/1", None, "changed"), page("a.example/2", None, "two")]);
    assert!(analysis.commit(6).unwrap());
    let cleaned: Vec<_> = all(store, id).into_iter().map(|s| s.page.cleaned_content).collect();
    assert_eq!(cleaned, [None, Some("of the old text".to_owned())]);
}

fn domain_has_one_row_with_a_stable_id(store: &impl ProjectStore) {
    let id = project(store, "p");
    save(store, id, &[page("b.example/1", None, "one"), page("a.example/1", None, "two")]);
    assert!(analyse(store, id, &[], Some("first"), 6));
    let before = store.boilerplate(id, None).unwrap();
    save(store, id, &[page("a.example/2", None, "three")]);
    assert!(analyse(store, id, &[], None, 7));
    let after = store.boilerplate(id, None).unwrap();
    assert_eq!(
        after.iter().map(|r| r.findings.domain.as_str()).collect::<Vec<_>>(),
        ["a.example", "b.example"]
    );
    assert_eq!(after[0].findings.pages_analyzed, 2);
    for (old, new) in before.iter().zip(&after) {
        assert_eq!((old.id, old.created_at_ms), (new.id, new.created_at_ms));
        assert_eq!((old.updated_at_ms, new.updated_at_ms), (6, 7));
    }
    assert_eq!(store.boilerplate(id, Some("b.example")).unwrap(), after[1..]);
    assert!(all(store, id).iter().all(|s| s.page.cleaned_content.is_none()), "not judged is not cleaned");
}

fn an_analysis_of_groups_leaves_the_other_pages(store: &impl ProjectStore) {
    let id = project(store, "p");
    let pages = [
        page("a.example/1", Some("news"), "one"),
        page("a.example/2", Some("shop"), "two"),
        page("b.example/1", None, "three"),
    ];
    save(store, id, &pages);
    assert!(analyse(store, id, &["news".into()], Some("clean"), 6));
    let cleaned: Vec<_> = all(store, id).into_iter().map(|s| s.page.cleaned_content.is_some()).collect();
    assert_eq!(cleaned, [true, false, false]);
    let rows = store.boilerplate(id, None).unwrap();
    assert_eq!((rows.len(), rows[0].findings.pages_analyzed), (1, 1));
}

fn analysis_of_a_deleted_project_does_not_commit(store: &impl ProjectStore) {
    let id = project(store, "p");
    save(store, id, &[page("a.example/1", None, "one")]);
    let mut analysis = store.begin_analysis(id, &[]).unwrap();
    analysis.put_domain(findings("a.example", 1)).unwrap();
    assert!(store.delete_project(id).unwrap());
    assert!(!analysis.commit(6).unwrap());
    assert!(store.boilerplate(id, None).unwrap().is_empty());
}
