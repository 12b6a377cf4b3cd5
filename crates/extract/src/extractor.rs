//! The one call.

use crate::{
    blocks,
    budget::Budget,
    charset,
    content::{self, Chosen},
    dom, embedded,
    explain::{Explanation, Trace},
    last_pass, links, media,
    metadata::{self, JsonLd},
    options::{Format, Options},
    page::{Page, Reveal},
    plain,
    polish::{self, Genre, Polish},
    prose, render,
    rules::{Rules, RulesError},
    score, signals,
    site::SiteUse,
    text, words,
};
use crawl_model::{Directives, Extraction, Extractor, Media, PageMetadata, PageSignals, Prose, Warning};
use std::{borrow::Cow, path::Path, sync::Arc};
use url::Url;

/// A page to extract.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The decoded body (content-encoding undone, charset not).
    pub bytes: &'a [u8],
    /// The address of the page, against which its links are resolved.
    pub url: Option<&'a Url>,
    /// The raw value of the `Content-Type` header.
    pub content_type: Option<&'a str>,
}

/// Extracts pages by one set of options and rules. Immutable; one serves all threads of a process.
#[derive(Clone, Debug)]
pub struct PageExtractor {
    options: Options,
    rules: Arc<Rules>,
}

/// How much of the content is read to identify its language (bytes).
const LANGUAGE_SAMPLE: usize = 2048;

impl PageExtractor {
    /// An extractor with the built-in rules.
    ///
    /// # Errors
    /// When the built-in rules are broken, which a test excludes.
    pub fn new(options: Options) -> Result<Self, RulesError> {
        Ok(Self { options, rules: Arc::new(Rules::embedded()?) })
    }

    /// An extractor whose rules come from a directory where it has them, and else are the built-in ones.
    ///
    /// # Errors
    /// Names every problem of every file of rules.
    pub fn with_rules(overlay: Option<&Path>, options: Options) -> Result<Self, RulesError> {
        Ok(Self { options, rules: Arc::new(Rules::load(overlay)?) })
    }

    /// An extractor with rules that were loaded before.
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

    /// The article score from which a page is an article (heuristics reference §1; 35 unless the rules say otherwise).
    #[must_use]
    pub fn article_threshold(&self) -> i32 {
        self.rules.score.threshold
    }

    /// Extracts a page. Never fails.
    #[must_use]
    pub fn extract(&self, input: &Input<'_>) -> Extraction {
        self.run(input, Trace::default(), &mut SiteUse::None).0
    }

    /// Extracts a page and says why it came out so. The extraction is the one that [`Self::extract`] gives; the
    /// explanation costs about as much again. Plain text has an empty explanation.
    #[must_use]
    pub fn explain(&self, input: &Input<'_>) -> (Extraction, Explanation) {
        let (extraction, explanation) = self.run(input, Trace::on(), &mut SiteUse::None);
        (extraction, explanation.unwrap_or_default())
    }

    /// The last pass over a page's Markdown, for a text that was cleaned since it was extracted: without pictures that
    /// only count readers, lines that are no more than a link, and links in front of the text (html-cleaner-impact, step 4).
    /// Links that are the content stay: by their share of the text, and where the extractor knew the kind of page. Plain
    /// text stays as it is, and no text is emptied. Without a known extractor only pictures that count readers go.
    #[must_use]
    pub fn last_pass(&self, text: String, extractor: impl Into<Option<Extractor>>) -> String {
        match extractor.into() {
            Some(Extractor::PlainText) => text,
            Some(Extractor::PageType) | None => last_pass::run(text, &self.rules.extraction.last_pass, true),
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

    /// [`Self::run`] within a budget that is given.
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
            (extract_plain(&decoded.text, &self.options, &mut warnings), None)
        } else {
            self.extract_html(&decoded.text, input.url, &mut warnings, trace, budget, site)
        };
        extraction.charset = decoded.charset;
        // A page that says what language it is in is believed (§8): identifying it takes longer than anything else here.
        if extraction.metadata.language.is_none() {
            extraction.metadata.language_detected = detect_language(&extraction.content);
        }
        warnings.sort_unstable();
        extraction.warnings = warnings;
        (extraction, explanation)
    }

    /// The text of the page's embedded data, if it has more words than `least` and enough to be a text at all. Its
    /// markup is parsed as a page of its own.
    fn embedded(&self, page: &Page<'_>, json: &JsonLd, least: u32) -> Option<String> {
        let html = embedded::find(page, json)?;
        let parsed = dom::parse_within(&html, &self.options.limits, page.budget);
        let inner = Page::new(parsed.dom, &self.rules, page.url, page.budget);
        let drop = vec![false; inner.dom.len() as usize];
        let selection = content::Selection::new(&inner, vec![inner.body], drop);
        if selection.words < least.max(self.rules.extraction.words.trafilatura) {
            return None;
        }
        let (pieces, references) = render::pieces(&inner, &selection, render::Style::of(&self.options));
        let pieces = polish::pieces(pieces, &self.rules, Polish::Whole, Genre::Article, &inner.trace);
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
        let mut extraction = without_content();
        let in_time = self.read(&mut page, &mut extraction, warnings, site);
        let explanation = std::mem::take(&mut page.trace).finish(&page);
        if in_time.is_none() {
            warnings.push(Warning::DeadlineExceeded);
        }
        if budget.ran_out_of_addresses() {
            warnings.push(Warning::AddressesCapped);
        }
        (extraction, explanation)
    }

    /// The steps of an extraction, each into its fields. `None` if the time was up before the last: then the content is
    /// still empty, and what earlier steps found stays.
    fn read(
        &self,
        page: &mut Page<'_>,
        extraction: &mut Extraction,
        warnings: &mut Vec<Warning>,
        site: &mut SiteUse<'_>,
    ) -> Option<()> {
        let budget = page.budget;
        extraction.directives = links::directives(page, &self.options.product_token);
        budget.go_on()?;
        let json = JsonLd::of(page);
        let collected = metadata::collect(page, &json, self.options.raw_metadata);
        extraction.metadata = collected.metadata;
        metadata::remove_invisible(&mut extraction.metadata);
        extraction.metadata.hidden_text.characters = page.dom.carriers;
        if collected.is_cut {
            warnings.push(Warning::MetadataCapped);
        }
        budget.go_on()?;
        extraction.signals = signals::compute(page, collected.accessible);
        extraction.feeds = links::feeds(page);
        let links = links::collect(page);
        extraction.links = links.distinct;
        budget.go_on()?;
        let words = extraction.signals.body_word_count;
        let (outbound, outbound_distinct) = (links.outbound, links.outbound_distinct);
        let (dated, credited) = (collected.dated, collected.credited);
        let counted = score::Counted { dated, credited, outbound, outbound_distinct, words };
        let score = score::score(page, &extraction.metadata, counted);
        extraction.article_score = score;
        let likeness = score::likeness(page, &extraction.metadata, score, counted);
        let genre = content::genre(page, &extraction.metadata, likeness);
        let revealed = reveal_if_thin(page, extraction.signals.noscript_words);
        let (chosen, has_rule) = self.choose(page, &mut extraction.metadata, &json, genre, likeness);
        let mut chosen = site.apply(page, chosen, has_rule, &mut extraction.metadata)?;
        extraction.metadata.hidden_text.kept = content::unseen::hide(page, &mut chosen.selection);
        extraction.is_article = score::is_article(&self.rules.score, score, chosen.listed);
        budget.go_on()?;
        let mut written = self.write(page, &json, chosen, genre);
        extraction.metadata.hidden_text.words = written.hidden_words;
        if !extraction.metadata.hidden_text.is_empty() {
            warnings.push(Warning::HiddenText);
        }
        if let Some(revealed) = revealed {
            written.reason = format!("{revealed}; {}", written.reason);
        }
        site.written(written.extractor);
        budget.go_on()?;
        if !page.trace.is_on() {
            // Of a large page these are as large as the page.
            page.forget_amounts();
        }
        let blocks =
            if self.options.blocks { blocks::collect(page, &written.in_content) } else { Vec::new() };
        budget.go_on()?;
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

    /// Chooses the content, by the user's selector or a rule for the site if there is one. Returns true beside it then.
    fn choose(
        &self,
        page: &Page<'_>,
        metadata: &mut PageMetadata,
        json: &JsonLd,
        genre: Genre,
        likeness: i32,
    ) -> (Chosen, bool) {
        if let Some(chosen) = content::site_rule::selected(page) {
            return (chosen, true);
        }
        if let Some((rule, chosen)) = content::site_rule::choose(page) {
            content::site_rule::set_title(page, rule, metadata);
            return (chosen, true);
        }
        let mut chosen = content::choose(page, metadata, genre, likeness, &self.options);
        content::declared::add(page, json, &mut chosen.selection);
        (chosen, false)
    }

    /// Writes the chosen part of a page, or its embedded data where that part is next to nothing.
    fn write(&self, page: &Page<'_>, json: &JsonLd, chosen: Chosen, genre: Genre) -> Written {
        let Chosen { selection, mut extractor, mut reason, polish, .. } = chosen;
        page.trace.chosen(page, &selection, extractor);
        let (pieces, references) = render::pieces(page, &selection, render::Style::of(&self.options));
        let mut pieces = polish::pieces(pieces, &self.rules, polish, genre, &page.trace);
        let mut content = render::join(&pieces, &references);
        let hidden_words = page.hidden_words_in(&selection.roots, &selection.drop);
        let mut media = media::collect(page, &selection);
        let mut is_embedded = false;
        if extractor != Extractor::SiteRule
            && selection.words < self.rules.extraction.words.readability
            && let Some(text) = self.embedded(page, json, 2 * selection.words)
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
        page.trace.written(page, &selection, &in_content);
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
    /// By node: its text went into the content.
    in_content: Vec<bool>,
    /// Words of the content that a reader cannot see.
    hidden_words: u32,
}

/// Where a reader without scripts would see next to nothing: shows what stands in `noscript`, or else what is hidden,
/// if that is more. Says what was shown.
fn reveal_if_thin(page: &mut Page<'_>, noscript_words: u32) -> Option<&'static str> {
    let visible = page.amount(page.body).words;
    let thin = page.rules.extraction.words.thin;
    if visible >= thin {
        return None;
    }
    if noscript_words > visible.max(page.rules.extraction.words.readability) {
        page.reveal(Reveal::Noscript);
        return Some("the page's own noscript was read");
    }
    if page.hidden_words() > 2 * thin {
        page.reveal(Reveal::Hidden);
        return Some("hidden parts were read");
    }
    None
}

/// What is known of a page before it is read.
fn without_content() -> Extraction {
    Extraction {
        content: String::new(),
        blocks: Vec::new(),
        metadata: PageMetadata::default(),
        links: Vec::new(),
        media: Vec::new(),
        feeds: Vec::new(),
        directives: Directives::default(),
        signals: PageSignals::default(),
        extractor: Extractor::None,
        reason: "its time was up".to_owned(),
        article_score: 0,
        is_article: false,
        word_count: 0,
        prose: None,
        charset: "",
        warnings: Vec::new(),
    }
}

/// Plain text is its own content; its paragraphs are its blocks.
fn extract_plain(raw: &str, options: &Options, warnings: &mut Vec<Warning>) -> Extraction {
    let mut content = plain::normalise(raw);
    let words = words::count_words(&content);
    let blocks = if options.blocks { blocks::of_plain(&content) } else { Vec::new() };
    if words == 0 && !content.trim().is_empty() {
        warnings.push(Warning::AllBoilerplate);
    }
    if options.format == Format::Markdown {
        content = plain::to_markdown(&content);
    }
    Extraction {
        extractor: if content.is_empty() { Extractor::None } else { Extractor::PlainText },
        content,
        blocks,
        signals: PageSignals { body_word_count: words, visible_word_count: words, ..PageSignals::default() },
        reason: "plain text".to_owned(),
        word_count: words,
        ..without_content()
    }
}

/// The language of a text by its letters, if the identification calls itself reliable.
fn detect_language(content: &str) -> Option<String> {
    let sample = text::head(content, LANGUAGE_SAMPLE);
    let sample = own_letters(sample);
    let info = whatlang::detect(&sample).filter(whatlang::Info::is_reliable)?;
    let code = info.lang().code();
    // whatlang speaks ISO 639-3; ISO 639-1 where there is one.
    Some(crawl_model::short_language(code).to_owned())
}

/// One letter of so many in another script than Latin, and the text is in the language of that script.
const OWN_LETTERS: usize = 5;

/// What a text's language is judged by: without its Latin letters where a fifth of all is of another script. Manuals are
/// full of commands and names in Latin letters, whatever language they are in.
fn own_letters(sample: &str) -> Cow<'_, str> {
    let is_latin = |c: char| c <= '\u{24f}';
    let (mut latin, mut other) = (0, 0);
    for c in sample.chars().filter(|c| c.is_alphabetic()) {
        if is_latin(c) { latin += 1 } else { other += 1 }
    }
    if latin == 0 || other * OWN_LETTERS < latin + other {
        return Cow::Borrowed(sample);
    }
    Cow::Owned(sample.chars().filter(|c| !(c.is_alphabetic() && is_latin(*c))).collect())
}

/// Whether a response is a page that this crate can read: HTML, XHTML or plain text by its `Content-Type`, or without
/// one, by its first bytes.
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
