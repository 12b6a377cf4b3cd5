//! `crawl projects`: the projects of a database, on the command line.

use super::{state, write_json, write_text};
use crate::{
    cli::{AnalyzeArgs, DedupMode, ProjectsArgs, ProjectsWhat},
    logging::say,
    words::counted,
};
use crawl_engine::{
    config,
    exit::{Exit, Failure},
    project_access,
};
use crawl_model::StoreError;
use crawl_projects::{
    AnalysisMode, AnalysisParams, DatabaseError, DomainCount, DomainStats, Paging, Progress, Project,
    ProjectAnalysisResult, ProjectError, Projects,
};
use serde::Serialize;
use std::fmt::Write;

pub fn run(args: &ProjectsArgs) -> Result<Exit, Failure> {
    let settings =
        config::load(args.database.config.as_deref(), config::environment()?, args.database.overrides())?;
    crate::logging::start(&settings.log)?;
    let database = crawl_projects::database(&settings.projects.database)?;
    if matches!(args.what, ProjectsWhat::Check) && !database.exists() {
        let words = "there is no such database; name it with --database";
        return Err(Failure::usage(format!("{}: {words}", database.display())));
    }
    if matches!(args.what, ProjectsWhat::Check) {
        // needs no rules of extraction, unlike the others
        return check(&settings.projects.database, args.json);
    }
    let (store, _) = crawl_projects::open(&settings.projects.database)?;
    let projects = project_access::projects(store, &settings)?;
    let out = match &args.what {
        ProjectsWhat::List => list(&projects, args.json),
        ProjectsWhat::Create { name } => projects.create(name).map(|made| one(&made, args.json)),
        ProjectsWhat::Show { project } => show(&projects, project, args.json),
        ProjectsWhat::Delete { project } => delete(&projects, project, args.json),
        ProjectsWhat::Analyze(asked) => analyze(&projects, asked, args.json),
        ProjectsWhat::Check => return Ok(Exit::Done),
    }?;
    if args.json {
        write_json(out.as_bytes())?;
    } else {
        write_text(&out)?;
    }
    Ok(Exit::Done)
}

fn check(database: &str, as_json: bool) -> Result<Exit, Failure> {
    let (report, path) = crawl_projects::check(database)?;
    let out = if as_json { json(&report) } else { state::findings(&path, &report) };
    if as_json {
        write_json(out.as_bytes())?;
    } else {
        write_text(&out)?;
    }
    if report.findings.is_empty() {
        return Ok(Exit::Done);
    }
    let faults = format!("faults found: {}", report.findings.len());
    Err(DatabaseError::Store { path, error: StoreError::Corrupt(faults) }.into())
}

fn json(value: &impl Serialize) -> String {
    // plain data: nothing in it can fail to be written
    serde_json::to_string_pretty(value).map_or_else(|_| String::new(), |text| text + "\n")
}

fn one(project: &Project, as_json: bool) -> String {
    if as_json { json(project) } else { format!("{}  {}\n", project.id, project.name) }
}

fn list(projects: &Projects, as_json: bool) -> Result<String, ProjectError> {
    let mut all = Vec::new();
    let mut paging = Paging { limit: Some(crawl_projects::MAX_LIMIT), ..Paging::default() };
    loop {
        let part = projects.list(&paging)?;
        all.extend(part.projects);
        paging.after = part.next;
        if part.next.is_none() {
            break;
        }
    }
    if as_json {
        return Ok(json(&all));
    }
    let mut out = String::new();
    for Project { id, name, sources, created_at } in &all {
        let _ = writeln!(
            out,
            "{id}  {sources:>8} pages  since {}  {name}",
            created_at.get(..10).unwrap_or_default()
        );
    }
    Ok(out)
}

/// A project with its details.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    project: Project,
    domains: Vec<DomainCount>,
    boilerplate: Vec<DomainStats>,
}

fn show(projects: &Projects, asked: &str, as_json: bool) -> Result<String, ProjectError> {
    let project = projects.find(asked)?;
    let (domains, mut boilerplate) = (projects.domains(project.id, &[])?, projects.stats(project.id, None)?);
    boilerplate.iter_mut().for_each(|row| row.boilerplate_hashes = None);
    if as_json {
        return Ok(json(&Shown { project, domains, boilerplate }));
    }
    let mut out = format!("{}: {} pages, id {}\n", project.name, project.sources, project.id);
    for DomainCount { domain, pages } in &domains {
        let _ = write!(out, "  {domain}: {pages} pages");
        if let Some(found) = boilerplate.iter().find(|row| row.domain == *domain) {
            let _ = write!(
                out,
                "; of {} analysed {} of {} blocks repeated, {} bytes removed a page ({}, threshold_pct {}, min_pages {}, \
                 min_block_chars {})",
                found.pages_analyzed,
                found.blocks_boilerplate,
                found.blocks_total,
                found.bytes_removed_avg,
                found.mode,
                found.threshold_pct,
                found.min_pages,
                found.min_block_chars
            );
        }
        out.push('\n');
    }
    Ok(out)
}

fn delete(projects: &Projects, asked: &str, as_json: bool) -> Result<String, ProjectError> {
    let project = projects.find(asked)?;
    projects.delete(project.id)?;
    if as_json {
        return Ok(json(&project));
    }
    Ok(format!("deleted {} with {} pages\n", project.name, project.sources))
}

fn analyze(projects: &Projects, asked: &AnalyzeArgs, as_json: bool) -> Result<String, ProjectError> {
    let project = projects.find(&asked.project)?;
    let params = AnalysisParams {
        source_groups: asked.source_group.clone(),
        threshold_pct: asked.threshold_pct,
        min_pages: asked.min_pages,
        min_block_chars: asked.min_block_chars,
        mode: asked.mode.map(|mode| match mode {
            DedupMode::Exact => AnalysisMode::Exact,
            DedupMode::Site => AnalysisMode::Site,
        }),
    };
    let analysis = projects.analysis(project.id, &params)?;
    let done = projects.analyze(&analysis, &Progress::default())?;
    if as_json {
        return Ok(json(&done));
    }
    let ProjectAnalysisResult {
        domains_analyzed,
        domains_with_boilerplate,
        total_pages_cleaned,
        total_bytes_removed,
        domain_results,
    } = done;
    let mut out = String::new();
    for row in domain_results {
        if let Some(warning) = row.warning {
            let _ = writeln!(out, "{}: {warning}", row.domain);
            continue;
        }
        let _ = writeln!(
            out,
            "{}: {} of {} cleaned, {}, {} removed",
            row.domain,
            row.pages_cleaned,
            counted(row.pages_analyzed, "page"),
            counted(row.blocks_boilerplate, "block"),
            bytesize::ByteSize(row.bytes_removed_total)
        );
    }
    say(&format!(
        "{}, {domains_with_boilerplate} with boilerplate; {} cleaned, {} removed",
        counted(domains_analyzed, "domain"),
        counted(total_pages_cleaned, "page"),
        bytesize::ByteSize(total_bytes_removed)
    ));
    Ok(out)
}
