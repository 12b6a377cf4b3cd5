//! The MCP tools. They call [`projects`](crawl_projects), [`visit`](crawl_engine::visit) and the
//! extractor.

use super::parameters::Parameters;
use super::recent::{Asked, RecentPages};
use super::types::{
    AnalyzeArgs, CrawlArgs, ExtractArgs, ListArgs, PageView, Part, ProjectsView, SourceArgs, StatsArgs,
    StatsView, TextFormat, web_url,
};
use crawl_engine::{
    config::Config,
    cpu::CpuPool,
    exit::{Exit, Failure},
    page_rules,
    platform::PAGE_DEADLINE,
    record::page_record,
    visit::Visitor,
};
use crawl_extract::{Format, Input, Options, PageExtractor};
use crawl_projects::{AnalysisParams, Paging, Progress, ProjectAnalysisResult, ProjectError, Projects};
use rmcp::{
    Json, RoleServer, ServerHandler,
    handler::server::router::tool::ToolRouter,
    model::{Implementation, ServerCapabilities, ServerConfig},
    service::RequestContext,
    tool, tool_handler, tool_router,
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Time limit for one page with all that it needs: robots.txt, redirects, pauses, retries.
const PATIENCE: Duration = Duration::from_secs(120);
/// HTML of one page, in bytes.
const MAX_HTML: usize = 8 << 20;
/// Threads for work that uses a CPU or waits for the database.
const THREADS: usize = 4;
/// Digits of the id of a page without a URL: the first half of a hash, as of a URL.
const ID_DIGITS: usize = 32;

/// Instructions for an agent before its first call.
const INSTRUCTIONS: &str = "\
Projects hold crawled pages (sources) and what their domains repeat. list_projects names them; a project is given by id or \
name. crawl_url fetches one page politely (robots.txt and pauses are obeyed, so it may take some seconds) and can keep it in \
a project. analyze_boilerplate finds what each domain of a project repeats on its pages and cleans them of it; get_source \
reads a page. Long texts come in parts: pass next_offset as offset.";

/// The server: its tools and what they work with.
#[derive(Clone)]
pub struct Tools {
    projects: Projects,
    visitor: Arc<Visitor>,
    recent: RecentPages,
    stop: CancellationToken,
    markdown: Arc<PageExtractor>,
    text: Arc<PageExtractor>,
    pool: CpuPool,
    tool_router: ToolRouter<Self>,
}

impl Tools {
    /// Serves projects with the settings of crawls and extraction.
    ///
    /// # Errors
    /// When the rules of extraction cannot be used.
    pub fn new(projects: Projects, config: Config) -> Result<Self, Failure> {
        let extract = &config.extract;
        let overlay = Some(extract.rules.as_str()).filter(|dir| !dir.is_empty()).map(Path::new);
        let extractor = |format| -> Result<_, Failure> {
            let rules = page_rules::load(overlay, &extract.consent_lists, |line| tracing::warn!("{line}"))?;
            let options = Options::default()
                .with_format(format)
                .with_favor(extract.favor)
                .with_links(extract.links)
                .with_images(extract.images)
                .with_tables(extract.tables)
                .with_comments(extract.comments)
                .with_raw_metadata(extract.raw_metadata)
                .with_deadline(Some(PAGE_DEADLINE));
            Ok(Arc::new(PageExtractor::from_rules(rules, options)))
        };
        Ok(Self {
            markdown: extractor(Format::Markdown)?,
            text: extractor(Format::Text)?,
            pool: CpuPool::named("tools", THREADS)
                .map_err(|e| Failure::new(Exit::Internal, e.to_string()))?,
            tool_router: Self::tool_router(),
            visitor: Arc::new(Visitor::new(config, PATIENCE)),
            recent: RecentPages::default(),
            stop: CancellationToken::new(),
            projects,
        })
    }

    /// Ends running visits and waits for their end.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.visitor.idle().await;
    }

    /// Runs something that holds a CPU or waits for the database, away from the threads that answer.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Projects) -> Result<T, ProjectError> + Send + 'static,
    ) -> Result<T, String> {
        let projects = self.projects.clone();
        let _place = self.pool.ready().await;
        let done = self.pool.run(move || work(&projects)).await;
        done.map_err(|panicked| format!("internal error: {panicked}"))?.map_err(|e| e.to_string())
    }
}

// the types of answers are spelt out: the macro reads the output schema from `Json<…>`
#[tool_router]
impl Tools {
    /// Find what each domain of a project repeats on its pages (cookie banners, menus, footers) and store the pages without
    /// it. Running it again replaces the result of before; the original content of pages is never changed.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn analyze_boilerplate(
        &self,
        Parameters(asked): Parameters<AnalyzeArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<ProjectAnalysisResult>, String> {
        let progress = Arc::new(Progress::default());
        let counted = Arc::clone(&progress);
        let params = AnalysisParams {
            source_groups: asked.source_groups.unwrap_or_default(),
            threshold_pct: asked.threshold_pct,
            min_pages: asked.min_pages,
            min_block_chars: asked.min_block_chars,
            mode: asked.mode,
        };
        let work = self.work(move |projects| {
            let id = projects.find(&asked.project_id)?.id;
            let analysis = projects.analysis(id, &params)?;
            projects.analyze(&analysis, &counted)
        });
        tokio::pin!(work);
        let done = tokio::select! {
            done = &mut work => done,
            () = context.ct.cancelled() => {
                progress.stop();
                work.await
            }
        };
        done.map(Json)
    }

    /// Results of the last analyses for each domain of a project: pages, blocks, bytes removed a page,
    /// parameters.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn boilerplate_stats(
        &self,
        Parameters(asked): Parameters<StatsArgs>,
    ) -> Result<Json<StatsView>, String> {
        let found = self.work(move |projects| {
            let id = projects.find(&asked.project_id)?.id;
            let mut domains = projects.stats(id, asked.domain.as_deref())?;
            domains.iter_mut().for_each(|row| row.boilerplate_hashes = None);
            Ok(StatsView { project_id: id.to_string(), domains })
        });
        found.await.map(Json)
    }

    /// The projects with their ids, names and numbers of pages.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_projects(
        &self,
        Parameters(asked): Parameters<ListArgs>,
    ) -> Result<Json<ProjectsView>, String> {
        let found = self.work(move |projects| {
            let paging = Paging { after: asked.after, limit: Some(crawl_projects::MAX_LIMIT) };
            paging.check()?;
            let part = projects.list(&paging)?;
            Ok(ProjectsView { projects: part.projects, next: part.next })
        });
        found.await.map(Json)
    }

    /// Fetch one page from the web and take its main content as Markdown with title, authors, dates and language. Obeys
    /// robots.txt, leaves time between requests to one host, refuses addresses that are not public. Pages are fetched one
    /// after the other. The next part of a long text, asked for soon with the same arguments, needs no second fetch.
    #[tool(annotations(read_only_hint = false, destructive_hint = false, open_world_hint = true))]
    async fn crawl_url(
        &self,
        Parameters(asked): Parameters<CrawlArgs>,
        context: RequestContext<RoleServer>,
    ) -> Result<Json<PageView>, String> {
        let url = web_url("url", &asked.url)?;
        let part = Part::of(asked.offset, asked.max_chars)?;
        let call = Asked { url: asked.url, project: asked.project_id, group: asked.source_group };
        if let Some(record) = (part.offset > 0).then(|| self.recent.find(&call)).flatten() {
            return Ok(Json(PageView::of_record(record, part)));
        }
        let writer = match call.project.clone() {
            None if call.group.is_some() => return Err("source_group: needs a project_id".into()),
            None => None,
            Some(project) => Some(
                self.work(move |projects| projects.find(&project).map(|found| projects.writer(found.id)))
                    .await?,
            ),
        };
        let (visitor, stop) = (Arc::clone(&self.visitor), self.stop.child_token());
        let (stopped, group) = (stop.clone(), call.group.clone());
        // a task of its own: a visit that is dropped in the middle would not give its leases back
        let mut visit = tokio::spawn(async move {
            visitor.visit(url, writer, group.as_deref(), &stopped).await.map_err(|e| e.to_string())
        });
        let done = tokio::select! {
            done = &mut visit => done,
            () = context.ct.cancelled() => {
                stop.cancel();
                visit.await
            }
        };
        // later parts must belong to the newly fetched page
        self.recent.forget(&call.url);
        let record = done.map_err(|e| format!("internal error: {e}"))??;
        let view = PageView::of_record(record.clone(), part);
        if view.next_offset.is_some() {
            self.recent.keep(&call, &record);
        }
        Ok(Json(view))
    }

    /// Take the main content of a page whose HTML you have: text, title, authors, dates, language. Nothing is fetched.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn extract_page(
        &self,
        Parameters(asked): Parameters<ExtractArgs>,
    ) -> Result<Json<PageView>, String> {
        let part = Part::of(asked.offset, asked.max_chars)?;
        if asked.html.len() > MAX_HTML {
            return Err(format!("html: has {} bytes, {MAX_HTML} are allowed", asked.html.len()));
        }
        let url = asked.url.as_deref().map(|text| web_url("url", text)).transpose()?;
        let extractor = match asked.format {
            Some(TextFormat::Text) => Arc::clone(&self.text),
            _ => Arc::clone(&self.markdown),
        };
        let _place = self.pool.ready().await;
        let page = self.pool.run(move || {
            let input =
                Input::new(asked.html.as_bytes()).with_url(url.as_ref()).with_content_type(page_rules::HTML);
            let extraction = extractor.extract(&input);
            let text = extractor.last_pass(extraction.content.clone(), extraction.extractor);
            let mut record = page_record(extraction, text, url.as_ref());
            if url.is_none() {
                // pages without a URL have ids too, by their text
                record.id = record.metadata.content_hash.chars().take(ID_DIGITS).collect();
            }
            PageView::of_record(record, part)
        });
        page.await.map(Json).map_err(|panicked| format!("internal error: {panicked}"))
    }

    /// A page of a project, by its id or URL: its text without what its site repeats, or the original.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn get_source(&self, Parameters(asked): Parameters<SourceArgs>) -> Result<Json<PageView>, String> {
        let part = Part::of(asked.offset, asked.max_chars)?;
        let found = self.work(move |projects| {
            let id = projects.find(&asked.project_id)?.id;
            let source = projects.source(id, &asked.source)?;
            Ok(PageView::of_source(source, asked.original == Some(true), part))
        });
        found.await.map(Json)
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("crawl", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}
