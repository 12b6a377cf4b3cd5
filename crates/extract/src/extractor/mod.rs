//! Extraction of one page: the steps, and their order.

mod by_site;
mod language;

use crate::{
    blocks,
    budget::Budget,
    charset,
    content::{self, Chosen},
    dom::{self, Tag},
    embedded, explain,
    explanation::Explanation,
    last_pass, links, markdown_document, media,
    metadata::{self, JsonLd},
    options::{Format, Options},
    page::{Page, Reveal},
    plain,
    polish::{self, ArticleStatus, Pass, Polish},
    prose, render,
    rules::{Rules, RulesError},
    score,
    selection::Selection,
    signals,
    site::SiteUse,
    text,
    trace::Trace,
    visibility, words, xhtml,
};
use crawl_model::{Extraction, Extractor, Media, PageMetadata, Prose, Warning};
use language::detect_language;
use std::{
    path::Path,
    sync::{Arc, OnceLock},
};
use url::Url;

/// Minimum share of links in the text of a page that consists of menus.
const MENU_DENSITY: f32 = 0.7;

/// A page to extract: its bytes and, if known, its URL and `Content-Type`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Input<'a> {
    /// Body after content decoding, before charset decoding.
    pub bytes: &'a [u8],
    /// URL of the page, the base of its links.
    pub url: Option<&'a Url>,
    /// The raw value of the `Content-Type` header.
    pub content_type: Option<&'a str>,
}

impl<'a> Input<'a> {
    /// A page with these bytes, without URL and `Content-Type`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, url: None, content_type: None }
    }

    /// Sets [`url`](Self::url).
    #[must_use]
    pub fn with_url(mut self, url: impl Into<Option<&'a Url>>) -> Self {
        self.url = url.into();
        self
    }

    /// Sets [`content_type`](Self::content_type).
    #[must_use]
    pub fn with_content_type(mut self, content_type: impl Into<Option<&'a str>>) -> Self {
        self.content_type = content_type.into();
        self
    }
}

/// Extracts pages by one set of options and rules. It is immutable, so all threads of a process can share it.
#[derive(Clone, Debug)]
pub struct PageExtractor {
    options: Options,
    rules: Arc<Rules>,
}

impl PageExtractor {
    /// Creates an extractor with the built-in rules. All such extractors of a process share them.
    ///
    /// # Errors
    /// When the built-in rules are invalid, which a test excludes.
    pub fn new(options: Options) -> Result<Self, RulesError> {
        static BUILT_IN: OnceLock<Arc<Rules>> = OnceLock::new();
        let rules = match BUILT_IN.get() {
            Some(rules) => rules,
            None => {
                let rules = Arc::new(Rules::embedded()?);
                BUILT_IN.get_or_init(|| rules)
            }
        };
        Ok(Self { options, rules: Arc::clone(rules) })
    }

    /// Creates an extractor with the rules of a directory, completed by the built-in ones.
    ///
    /// # Errors
    /// Names every problem of every rules file.
    pub fn with_rules(overlay: Option<&Path>, options: Options) -> Result<Self, RulesError> {
        Ok(Self { options, rules: Arc::new(Rules::load(overlay)?) })
    }

    /// Creates an extractor with loaded rules.
    #[must_use]
    pub fn from_rules(rules: impl Into<Arc<Rules>>, options: Options) -> Self {
        Self { options, rules: rules.into() }
    }

    /// The options that were given.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Returns true if a selector chooses the content ([`Rules::with_selected`]).
    #[must_use]
    pub fn is_selecting(&self) -> bool {
        self.rules.selected.is_some()
    }

    /// Minimum article score of an article (heuristics reference §1; 35 unless the rules change it).
    #[must_use]
    pub fn article_threshold(&self) -> i32 {
        self.rules.score.threshold
    }

    /// Extracts a page. Never fails.
    #[must_use]
    pub fn extract(&self, input: &Input<'_>) -> Extraction {
        self.run(input, Trace::default(), &mut SiteUse::None).0
    }

    /// Extracts a page with an explanation. The extraction equals that of [`Self::extract`]; the explanation
    /// costs about as much again. Plain text has an empty explanation.
    #[must_use]
    pub fn explain(&self, input: &Input<'_>) -> (Extraction, Explanation) {
        let (extraction, explanation) = self.run(input, Trace::on(), &mut SiteUse::None);
        (extraction, explanation.unwrap_or_default())
    }

    /// Runs the last pass over a page's Markdown that was cleaned after extraction. It removes tracking
    /// pixels, lines that are only a link, and links before the text (html-cleaner-impact, step 4).
    ///
    /// Links that are the content stay: by their share of the text, and if the extractor knew the type of
    /// page. Plain text is unchanged, and no text becomes empty. Without a known extractor only tracking
    /// pixels are removed.
    #[must_use]
    pub fn last_pass(&self, text: String, extractor: impl Into<Option<Extractor>>) -> String {
        match extractor.into() {
            Some(Extractor::PlainText) => text,
            Some(Extractor::Platform) | None => last_pass::run(text, &self.rules.extraction.last_pass, true),
            Some(_) => last_pass::run(text, &self.rules.extraction.last_pass, false),
        }
    }

    pub(crate) fn run(
        &self,
        input: &Input<'_>,
        trace: Trace,
        site: &mut SiteUse<'_>,
    ) -> (Extraction, Option<Explanation>) {
        let budget = Budget::new(self.options.deadline, input.bytes.len());
        self.run_within(input, trace, &budget, site)
    }

    /// Runs [`Self::run`] within a given budget.
    pub(crate) fn run_within(
        &self,
        input: &Input<'_>,
        trace: Trace,
        budget: &Budget,
        site: &mut SiteUse<'_>,
    ) -> (Extraction, Option<Explanation>) {
        let decoded = charset::decode(input.bytes, input.content_type);
        let mut warnings = Vec::new();
        if decoded.source == charset::Source::Guess
            && (decoded.overridden || !decoded.text.is_ascii() && decoded.charset != "UTF-8")
        {
            warnings.push(Warning::CharsetGuessed);
        }
        if decoded.had_errors {
            warnings.push(Warning::InvalidBytes);
        }
        let (mut extraction, explanation) = if plain::is_plain(input.content_type, &decoded.text) {
            (extract_plain(&decoded.text, input, &self.options, &mut warnings), None)
        } else {
            let html = xhtml::with_end_tags(&decoded.text, input.content_type);
            self.extract_html(&html, input.url, &mut warnings, trace, budget, site)
        };
        extraction.charset = decoded.charset;
        // A declared language is trusted (§8), since identification takes longer than any other step here.
        if extraction.metadata.language.is_none() {
            extraction.metadata.language_detected = detect_language(&extraction.content);
        }
        warnings.sort_unstable();
        extraction.warnings = warnings;
        (extraction, explanation)
    }

    /// Text of the page's embedded data, if it has more words than `least` and the minimum of a text. Its markup is
    /// parsed as a separate page.
    fn embedded(&self, page: &Page<'_>, json: &JsonLd, least: u32, is_product: bool) -> Option<String> {
        let html = embedded::find(page, json)?;
        let parsed = dom::parse_within(&html, &self.options.limits, page.budget);
        let inner = Page::new(parsed.dom, &self.rules, page.url, page.budget);
        let drop = vec![false; inner.dom.len() as usize];
        let selection = Selection::new(&inner, vec![inner.body], drop);
        if selection.words < least.max(self.rules.extraction.words.trafilatura) {
            return None;
        }
        let (pieces, references) = render::pieces(&inner, &selection, render::Style::of(&self.options));
        let pass = Pass { polish: Polish::Whole, status: ArticleStatus::Scored, is_product };
        let pieces = polish::pieces(pieces, &inner, pass);
        Some(render::join(&pieces, &references))
    }

    fn extract_html(
        &self,
        html: &str,
        url: Option<&Url>,
        warnings: &mut Vec<Warning>,
        trace: Trace,
        budget: &Budget,
        site: &mut SiteUse<'_>,
    ) -> (Extraction, Option<Explanation>) {
        let parsed = dom::parse_within(html, &self.options.limits, budget);
        if parsed.depth_capped {
            warnings.push(Warning::DepthCapped);
        }
        if parsed.attributes_capped {
            warnings.push(Warning::AttributesCapped);
        }
        let mut page = Page::new(parsed.dom, &self.rules, url, budget);
        page.trace = trace;
        let mut extraction = Extraction::without_content("its time was up");
        let in_time = self.read(&mut page, &mut extraction, warnings, site);
        let explanation = explain::finish(std::mem::take(&mut page.trace), &page);
        if in_time.is_none() {
            warnings.push(Warning::DeadlineExceeded);
        }
        if budget.ran_out_of_addresses() {
            warnings.push(Warning::AddressesCapped);
        }
        (extraction, explanation)
    }

    /// Runs the steps of an extraction, each into its fields. Returns `None` if the time ran out before the last
    /// step: the content is empty then, and earlier results stay.
    fn read(
        &self,
        page: &mut Page<'_>,
        extraction: &mut Extraction,
        warnings: &mut Vec<Warning>,
        site: &mut SiteUse<'_>,
    ) -> Option<()> {
        let budget = page.budget;
        extraction.directives = links::directives(page, &self.options.product_token);
        budget.check()?;
        let json = JsonLd::of(page);
        let collected = metadata::collect(page, &json, self.options.raw_metadata);
        extraction.metadata = collected.metadata;
        page.canonical = extraction.metadata.canonical.as_deref().and_then(|url| Url::parse(url).ok());
        metadata::remove_invisible(&mut extraction.metadata);
        extraction.metadata.hidden_text.characters = page.dom.carriers;
        if collected.is_cut {
            warnings.push(Warning::MetadataCapped);
        }
        budget.check()?;
        extraction.signals = signals::compute(page, collected.accessible);
        extraction.feeds = links::feeds(page);
        let links = links::collect(page);
        extraction.links = links.distinct;
        page.link_urls = links.urls;
        budget.check()?;
        let words = extraction.signals.body_word_count;
        let (outbound, outbound_distinct) = (links.outbound, links.outbound_distinct);
        let (dated, credited) = (collected.dated, collected.credited);
        let counted = score::Counted { dated, credited, outbound, outbound_distinct, words };
        let score = score::score(page, &extraction.metadata, counted);
        extraction.article_score = score;
        let likeness = score::likeness(page, &extraction.metadata, score, counted);
        let status = content::article_status(page, &extraction.metadata, likeness);
        let revealed = reveal_if_thin(page, extraction.signals.noscript_words);
        let (chosen, has_rule) = self.choose(page, &mut extraction.metadata, &json, status, likeness);
        let mut chosen = site.apply(page, chosen, has_rule, &mut extraction.metadata)?;
        extraction.metadata.hidden_text.kept = content::unseen::hide(page, &mut chosen.selection);
        extraction.is_article = score::is_article(&self.rules.score, score, chosen.listed);
        budget.check()?;
        let mut written = self.write(page, &json, chosen, status);
        extraction.metadata.hidden_text.words = written.hidden_words;
        if !extraction.metadata.hidden_text.is_empty() {
            warnings.push(Warning::HiddenText);
        }
        if let Some(revealed) = revealed {
            written.reason = format!("{revealed}; {}", written.reason);
        }
        site.written(written.extractor);
        budget.check()?;
        if !page.trace.is_on() {
            // The amounts of a large page take as much memory as the page.
            page.forget_amounts();
        }
        let blocks =
            if self.options.blocks { blocks::collect(page, &written.in_content) } else { Vec::new() };
        budget.check()?;
        extraction.blocks = blocks;
        extraction.word_count = words::count_words(&written.content);
        if extraction.word_count == 0 && blocks::has_text(page) {
            warnings.push(Warning::AllBoilerplate);
        }
        extraction.content = written.content;
        extraction.prose = written.prose;
        extraction.media = written.media;
        extraction.extractor = written.extractor;
        extraction.reason = written.reason;
        Some(())
    }

    /// Chooses the content, by the user's selector or a rule for the site if there is one. The second value
    /// is true in that case.
    fn choose(
        &self,
        page: &mut Page<'_>,
        metadata: &mut PageMetadata,
        json: &JsonLd,
        status: ArticleStatus,
        likeness: i32,
    ) -> (Chosen, bool) {
        if let Some(chosen) = content::site_rule::selected(page) {
            return (chosen, true);
        }
        if let Some((rule, chosen)) = content::site_rule::choose(page) {
            content::site_rule::set_title(page, rule, metadata);
            return (chosen, true);
        }
        content::find_heading(page, metadata.title.as_deref());
        let mut chosen = content::choose(page, metadata, status, likeness, &self.options);
        content::declared::add(page, json, &mut chosen.selection);
        (chosen, false)
    }

    /// Writes the chosen part of a page, or its embedded data if that part is nearly empty.
    fn write(&self, page: &Page<'_>, json: &JsonLd, chosen: Chosen, status: ArticleStatus) -> Written {
        let Chosen { selection, mut extractor, mut reason, polish, is_product, .. } = chosen;
        explain::chosen(page, &selection, extractor);
        let (pieces, references) = render::pieces(page, &selection, render::Style::of(&self.options));
        let pass = Pass { polish, status, is_product };
        let mut pieces = polish::pieces(pieces, page, pass);
        let mut content = render::join(&pieces, &references);
        let hidden_words = page.hidden_words_in(&selection.roots, &selection.drop);
        let mut media = media::collect(page, &selection);
        let mut is_embedded = false;
        if extractor != Extractor::SiteRule
            && selection.words < self.rules.extraction.words.readability
            && let Some(text) = self.embedded(page, json, 2 * selection.words, is_product)
        {
            pieces.clear();
            media.clear();
            content = text;
            is_embedded = true;
            extractor = Extractor::EmbeddedData;
            reason = format!("the page itself has {} words; its data for scripts has more", selection.words);
        }
        if content.is_empty() {
            extractor = Extractor::None;
            reason = format!("nothing is left of the content: {reason}");
        }
        let mut in_content = vec![false; page.dom.len() as usize];
        for node in pieces.iter().flat_map(|piece| &piece.nodes) {
            in_content[*node as usize] = true;
        }
        explain::written(page, &selection, &in_content);
        let prose = (!is_embedded).then(|| prose::of(page, &in_content));
        Written { content, media, extractor, reason, prose, in_content, hidden_words }
    }
}

/// The content as text.
struct Written {
    content: String,
    media: Vec<Media>,
    extractor: Extractor,
    reason: String,
    prose: Option<Prose>,
    /// True for nodes whose text was written.
    in_content: Vec<bool>,
    /// Hidden words of the content.
    hidden_words: u32,
}

/// Shows a page's `noscript`, if that has more words than a thin page or a page of menus. Otherwise shows the hidden
/// parts of a thin page. Returns a note on the shown part.
fn reveal_if_thin(page: &mut Page<'_>, noscript_words: u32) -> Option<&'static str> {
    let amount = page.amount(page.body);
    let thin = page.rules.extraction.words.thin;
    let is_thin = amount.words < thin;
    let has_replacement = if is_thin {
        noscript_words > amount.words.max(page.rules.extraction.words.readability)
    } else {
        noscript_words > amount.words.max(2 * thin)
            && amount.link_density() >= MENU_DENSITY
            && !asks_for_scripts(page)
    };
    if has_replacement {
        page.reveal(Reveal::Noscript);
        return Some("the page's own noscript was read");
    }
    if is_thin && page.hidden_words() > 2 * thin && !visibility::is_static(&page.dom) {
        page.reveal(Reveal::Hidden);
        return Some("hidden parts were read");
    }
    None
}

/// Returns true if a `noscript` asks the reader to enable scripts, so it is no replacement for the content.
fn asks_for_scripts(page: &Page<'_>) -> bool {
    let mut texts =
        page.dom.of_kind(|tag| tag == Tag::Noscript).map(|id| text::fold_lower(&page.dom.raw_text(id)));
    texts.any(|text| page.rules.phrases.javascript.is_match(&text))
}

/// Extracts plain text, which is its own content with paragraphs as blocks. Markdown stays as it is.
fn extract_plain(raw: &str, input: &Input<'_>, options: &Options, warnings: &mut Vec<Warning>) -> Extraction {
    let mut content = plain::normalise(raw);
    let words = words::count_words(&content);
    let blocks = if options.blocks { blocks::of_plain(&content) } else { Vec::new() };
    if words == 0 && !content.trim().is_empty() {
        warnings.push(Warning::AllBoilerplate);
    }
    let is_markdown = markdown_document::is_markdown(input.content_type, input.url);
    let title = if is_markdown { markdown_document::title(&content) } else { None };
    let links = if is_markdown { markdown_document::links(&content, input.url) } else { Vec::new() };
    if options.format == Format::Markdown && !is_markdown {
        content = plain::to_markdown(&content);
    }
    let mut extraction = Extraction::without_content("plain text");
    extraction.metadata.title = title;
    extraction.links = links;
    extraction.extractor = if content.is_empty() { Extractor::None } else { Extractor::PlainText };
    extraction.content = content;
    extraction.blocks = blocks;
    extraction.signals.body_word_count = words;
    extraction.signals.visible_word_count = words;
    extraction.word_count = words;
    extraction
}

/// Returns true if this crate can read a response: HTML, XHTML, plain text or Markdown by its `Content-Type`, or
/// without one, by its first bytes.
#[must_use]
pub fn is_html(content_type: Option<&str>, bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    let binary = || {
        head.starts_with(b"%PDF-")
            || head.starts_with(b"PK\x03\x04")
            || head.starts_with(b"\x1f\x8b")
            || head.starts_with(b"\x89PNG")
            || head.starts_with(b"\xff\xd8\xff")
            || head.starts_with(b"GIF8")
            || head.contains(&0) && !head.starts_with(b"\xff\xfe") && !head.starts_with(b"\xfe\xff")
    };
    match content_type.map(plain::essence).as_deref() {
        Some("text/html" | "application/xhtml+xml" | "text/plain") => !binary(),
        Some(media) if plain::is_markdown_type(media) => !binary(),
        Some("application/xml" | "text/xml") => {
            let text = String::from_utf8_lossy(head);
            text.contains("<html") || text.contains("xhtml")
        }
        None | Some("" | "application/octet-stream" | "unknown/unknown" | "*/*") => {
            !binary() && memchr::memchr(b'<', head).is_some()
        }
        Some(_) => false,
    }
}
