//! Paths of the API. [`projects`](crawl_projects) does their work.
#![expect(unused_qualifications, reason = "the code that utoipa makes names types by their paths")]

use crate::rest::{
    app::App,
    input::{Body, Id, NoBody, Query, parse_id},
    jobs::Job,
    problem::Problem,
};
use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use crawl_projects::{
    AnalysisParams, DomainCount, DomainStats, NAME_PATTERN, Paging, Project, ProjectAnalysisResult,
    ProjectList, Source, SourceFilter, SourceList,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::{
    IntoParams, ToSchema,
    openapi::schema::{Object, ObjectBuilder, SchemaType, Type},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

type Answer<T> = Result<Json<T>, Problem>;

/// All paths with a time limit.
pub fn limited() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(health))
        .routes(routes!(list_projects, create_project))
        .routes(routes!(get_project, delete_project))
        .routes(routes!(list_domains))
        .routes(routes!(list_sources))
        .routes(routes!(get_source))
        .routes(routes!(boilerplate_stats))
        .routes(routes!(get_job, stop_job))
}

/// Answers once the work is done, without a time limit.
pub fn unlimited() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(analyze_boilerplate))
}

/// The server is there and its database can be read.
#[derive(Serialize, ToSchema)]
struct Health {
    /// Constant `ok`.
    status: &'static str,
    /// Version of the program.
    version: &'static str,
}

/// Checks that the server is there and its database can be read. Needs no token.
#[utoipa::path(get, path = "/api/v1/health", tag = "server", responses((status = 200, body = Health)), security(()))]
async fn health(State(app): State<App>) -> Answer<Health> {
    app.work(|projects| projects.list(&Paging { limit: Some(1), ..Paging::default() })).await?;
    Ok(Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") }))
}

/// The projects, in the order in which they were made.
#[utoipa::path(get, path = "/api/v1/projects", tag = "projects", params(Paging), responses((status = 200, body = ProjectList)))]
async fn list_projects(State(app): State<App>, Query(page): Query<Paging>) -> Answer<ProjectList> {
    page.check()?;
    app.work(move |projects| projects.list(&page)).await.map(Json)
}

/// A project to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewProject {
    /// Its name, which no other project has: no control characters, no space at either end.
    #[schema(schema_with = name_schema)]
    name: String,
}

fn name_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::Type(Type::String))
        .min_length(Some(1))
        .max_length(Some(200))
        .pattern(Some(NAME_PATTERN))
        .build()
}

/// Makes an empty project. A crawl with `--project NAME` makes its own.
#[utoipa::path(post, path = "/api/v1/projects", tag = "projects", request_body = NewProject,
    responses(
        (status = 201, body = Project, headers(("Location" = String, description = "The project"))),
        (status = 409, description = "The name is taken", body = Problem, content_type = "application/problem+json"),
    ))]
async fn create_project(State(app): State<App>, Body(asked): Body<NewProject>) -> Result<Response, Problem> {
    let made = app.work(move |projects| projects.create(&asked.name)).await?;
    let location = location(&format!("/api/v1/projects/{}", made.id));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(made)).into_response())
}

/// One project.
#[utoipa::path(get, path = "/api/v1/projects/{id}", tag = "projects", params(("id" = Uuid, Path)),
    responses((status = 200, body = Project)))]
async fn get_project(State(app): State<App>, Id(id): Id) -> Answer<Project> {
    app.work(move |projects| projects.get(id)).await.map(Json)
}

/// Removes a project with its sources and all results.
#[utoipa::path(delete, path = "/api/v1/projects/{id}", tag = "projects", params(("id" = Uuid, Path)),
    responses((status = 204, description = "It is gone")))]
async fn delete_project(State(app): State<App>, Id(id): Id) -> Result<StatusCode, Problem> {
    app.work(move |projects| projects.delete(id)).await.map(|()| StatusCode::NO_CONTENT)
}

/// Groups that a question is limited to.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Groups {
    /// Count pages of these groups alone; repeatable.
    #[param(inline)]
    source_groups: Vec<String>,
}

/// The domains of a project with their pages, in alphabetical order.
#[utoipa::path(get, path = "/api/v1/projects/{id}/domains", tag = "projects", params(("id" = Uuid, Path), Groups),
    responses((status = 200, body = Vec<DomainCount>)))]
async fn list_domains(
    State(app): State<App>,
    Id(id): Id,
    Query(groups): Query<Groups>,
) -> Answer<Vec<DomainCount>> {
    app.work(move |projects| projects.domains(id, &groups.source_groups)).await.map(Json)
}

/// The pages of a project with content and cleaned content, in the order in which they first came. A part ends early once
/// it has 16 MiB of text.
#[utoipa::path(get, path = "/api/v1/projects/{id}/sources", tag = "sources", params(("id" = Uuid, Path), SourceFilter),
    responses((status = 200, body = SourceList)))]
async fn list_sources(
    State(app): State<App>,
    Id(id): Id,
    Query(filter): Query<SourceFilter>,
) -> Answer<SourceList> {
    filter.paging().check()?;
    app.work(move |projects| projects.sources(id, &filter)).await.map(Json)
}

/// One page of a project.
#[utoipa::path(get, path = "/api/v1/projects/{id}/sources/{source_id}", tag = "sources",
    params(("id" = Uuid, Path), ("source_id" = String, Path, pattern = "^[0-9a-f]{32}$", description = "The id of its record")),
    responses((status = 200, body = Source)))]
async fn get_source(
    State(app): State<App>,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Answer<Source> {
    let Path((id, source)) = path.map_err(|e| Problem::new(e.status(), e.body_text()))?;
    let id = parse_id(&id)?;
    if source.len() != 32 || Uuid::try_parse(&source).is_err() {
        return Err(Problem::field("source_id", "is not 32 hex digits"));
    }
    app.work(move |projects| projects.source(id, &source)).await.map(Json)
}

/// Filter of statistics.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StatsFilter {
    /// The only domain to report.
    #[param(required = false, nullable = false)]
    domain: Option<String>,
    /// Includes the hashes of the boilerplate.
    #[param(required = false)]
    hashes: bool,
}

/// Returns the results of the last analyses of a project's domains, in alphabetical order.
#[utoipa::path(get, path = "/api/v1/projects/{id}/boilerplate-stats", tag = "boilerplate",
    params(("id" = Uuid, Path), StatsFilter), responses((status = 200, body = Vec<DomainStats>)))]
async fn boilerplate_stats(
    State(app): State<App>,
    Id(id): Id,
    Query(filter): Query<StatsFilter>,
) -> Answer<Vec<DomainStats>> {
    let mut rows = app.work(move |projects| projects.stats(id, filter.domain.as_deref())).await?;
    if !filter.hashes {
        rows.iter_mut().for_each(|row| row.boilerplate_hashes = None);
    }
    Ok(Json(rows))
}

/// Finds what the domains of a project repeat and cleans its pages of it. Answers when it is done; with
/// `Prefer: respond-async` at once, and with `Prefer: respond-async, wait=N` after N seconds at the latest. The job at
/// `Location` has the progress and the result. The parameters stand in the query; a body with keys is refused.
#[utoipa::path(post, path = "/api/v1/projects/{id}/analyze-boilerplate", tag = "boilerplate",
    params(("id" = Uuid, Path), AnalysisParams,
        ("Prefer" = Option<String>, Header, description = "`respond-async`, `wait=N` (RFC 7240)")),
    responses(
        (status = 200, body = ProjectAnalysisResult),
        (status = 202, body = Job, description = "The analysis runs or waits", headers(("Location" = String, description = "The job"))),
        (status = 409, description = "Another analysis of the project runs or waits", body = Problem,
            content_type = "application/problem+json"),
    ))]
async fn analyze_boilerplate(
    State(app): State<App>,
    Id(id): Id,
    Query(asked): Query<AnalysisParams>,
    headers: HeaderMap,
    _: NoBody,
) -> Result<Response, Problem> {
    let analysis = app.work(move |projects| projects.analysis(id, &asked)).await?;
    let job = app.jobs.start(&app.projects, analysis)?;
    let done = match patience(&headers) {
        None => Some(job.ended().await),
        Some(patience) => tokio::time::timeout(patience, job.ended()).await.ok(),
    };
    match done {
        Some(result) => result.map(|result| Json(result).into_response()),
        None => {
            let snapshot = job.snapshot();
            let headers = [
                (header::LOCATION, location(&format!("/api/v1/jobs/{}", snapshot.id))),
                (HeaderName::from_static("preference-applied"), HeaderValue::from_static("respond-async")),
            ];
            Ok((StatusCode::ACCEPTED, headers, Json(snapshot)).into_response())
        }
    }
}

/// Time for which a client waits that does not wait for the end.
fn patience(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let wishes: Vec<&str> = said.flat_map(|value| value.split(',')).map(str::trim).collect();
    wishes.iter().any(|wish| wish.eq_ignore_ascii_case("respond-async")).then(|| {
        let wait = wishes.iter().find_map(|wish| wish.strip_prefix("wait=")?.trim().parse::<u32>().ok());
        Duration::from_secs(wait.unwrap_or(0).into())
    })
}

/// Returns the progress of an analysis in the background, and its result.
#[utoipa::path(get, path = "/api/v1/jobs/{id}", tag = "boilerplate", params(("id" = Uuid, Path)),
    responses((status = 200, body = Job)))]
async fn get_job(State(app): State<App>, Id(id): Id) -> Answer<Job> {
    app.jobs.get(id).map(|job| Json(job.snapshot())).ok_or_else(no_job)
}

/// Ends an analysis, with nothing changed, unless its result is being written already.
#[utoipa::path(delete, path = "/api/v1/jobs/{id}", tag = "boilerplate", params(("id" = Uuid, Path)),
    responses((status = 202, description = "It ends soon", body = Job)))]
async fn stop_job(State(app): State<App>, Id(id): Id) -> Result<Response, Problem> {
    let job = app.jobs.get(id).ok_or_else(no_job)?;
    job.stop();
    Ok((StatusCode::ACCEPTED, Json(job.snapshot())).into_response())
}

fn no_job() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no such job; jobs of an earlier start are not kept")
}

fn location(path: &str) -> HeaderValue {
    // a fixed path and a UUID are always a valid header value
    HeaderValue::from_str(path).unwrap_or_else(|_| HeaderValue::from_static("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefer_header_parses_as_in_rfc_7240() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("prefer", HeaderValue::from_static(value));
            }
            patience(&headers).map(|d| d.as_secs())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["wait=10"]), None);
        assert_eq!(of(&["respond-async"]), Some(0));
        assert_eq!(of(&["return=minimal, Respond-Async, wait=10"]), Some(10));
        assert_eq!(of(&["wait=3", "respond-async"]), Some(3));
        assert_eq!(of(&["respond-async; wait=-1"]), None);
    }
}
