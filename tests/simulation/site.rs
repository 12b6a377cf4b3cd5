//! A random web of a few hosts: pages, links, redirects, robots.txt, sitemaps, errors.

use super::rng::Rng;
use std::{collections::BTreeMap, net::IpAddr};

/// Behaviour of a server for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Refused,
    Reset,
    /// No answer until the client gives up.
    Silent,
    /// The connection breaks within the body.
    Cut,
    /// The body stops, and the connection stays open.
    Stalled,
    /// A temporary status, with the seconds of `Retry-After` if any.
    Status(u16, u64),
}

impl Fault {
    const fn is_timeout(self) -> bool {
        matches!(self, Self::Silent | Self::Stalled)
    }
}

/// Answer to a path without faults.
#[derive(Clone, Debug)]
pub enum Answer {
    Page { title: String, article: String, links: Vec<String>, gzip: bool, etag: bool },
    Redirect { to: String, status: u16 },
    Status(u16),
    Text { body: String, content_type: &'static str },
}

/// One path of a host.
#[derive(Clone, Debug)]
pub struct Target {
    pub answer: Answer,
    /// The answer from the second round on, if it differs.
    pub later: Option<Answer>,
    /// Behaviour for the first requests for it.
    pub faults: Vec<Fault>,
}

impl Target {
    const fn of(answer: Answer) -> Self {
        Self { answer, later: None, faults: Vec::new() }
    }
}

#[derive(Clone, Debug)]
pub struct Host {
    pub name: String,
    pub address: IpAddr,
    pub targets: BTreeMap<String, Target>,
    pub crawl_delay_s: u64,
    /// Paths below `/private/` are disallowed.
    pub denies: bool,
    /// True if missing paths are answered with 200.
    pub soft404: bool,
    pub latency_ms: (u64, u64),
}

#[derive(Clone, Debug)]
pub struct Site {
    pub hosts: Vec<Host>,
    pub seeds: Vec<String>,
}

const WORDS: &str = "harbour gull rope lantern tide mast anchor salt barrel deck wind storm chart compass island \
    fisher net bell tower stone wall gate garden river bridge mill wheel grain bread oven market cloth wool dye copper kettle \
    spoon table chair window door roof beam nail hammer saw plank shelf book page letter ink pen paper glass bottle cork wine \
    apple pear plum cherry walnut hazel oak ash elm birch moss fern stream pond heron otter trout pike eel frog newt dragonfly \
    summer winter spring autumn morning evening night noon shadow light colour red green blue yellow brown white black narrow \
    wide deep shallow quiet loud early late young old heavy small large simple careful slow quick warm cold bright dull";

fn words(rng: &mut Rng, count: u64) -> String {
    let all: Vec<&str> = WORDS.split_whitespace().collect();
    let mut out = String::new();
    for n in 0..count {
        if n > 0 {
            out.push_str(if n % 11 == 0 { ". The " } else { " " });
        }
        let word: &str = all[rng.index(all.len())];
        out.push_str(word);
    }
    out.push('.');
    out
}

fn article(rng: &mut Rng, template: &[String]) -> String {
    let mut out = String::new();
    for _ in 0..rng.between(3, 4) {
        let count = rng.between(45, 60);
        out.push_str(&format!("<p>The {}</p>\n", words(rng, count)));
    }
    // the site's boilerplate is at the foot of most pages
    for block in template.iter().filter(|_| rng.clone().chance(90)) {
        out.push_str(&format!("<p>{block}</p>\n"));
    }
    out
}

/// The page as HTML.
pub fn html(title: &str, article: &str, links: &[String]) -> String {
    let list: String = links.iter().map(|link| format!("<li><a href=\"{link}\">{link}</a></li>")).collect();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head><body>\
         <nav><ul>{list}</ul></nav><main><article><h1>{title}</h1>\n{article}</article></main></body></html>"
    )
}

fn url(host: usize, path: &str) -> String {
    format!("http://h{host}.sim{path}")
}

impl Site {
    /// The web of a seed.
    pub fn of(seed: u64, rounds: u32) -> Self {
        let mut rng = Rng::new(seed, "site");
        let count = usize::try_from(rng.between(1, 4)).unwrap();
        let counts: Vec<u64> = (0..count).map(|_| rng.between(3, 14)).collect();
        let hosts = (0..count).map(|index| host(&mut rng, index, &counts, rounds)).collect();
        Self { hosts, seeds: (0..count).map(|index| url(index, "/")).collect() }
    }

    /// The same web with temporary network faults.
    pub fn disturbed(&self, rng: &mut Rng) -> Self {
        let mut site = self.clone();
        for host in &mut site.hosts {
            let trouble = rng.below(40);
            // a failing robots.txt costs each waiting page a try: then no request may time out
            let robots_fails = rng.chance(20);
            for (path, target) in &mut host.targets {
                let is_robots = path == "/robots.txt";
                // opt-out files share their tries
                let is_page = !is_robots && path != "/ai.txt" && !path.starts_with("/.well-known/");
                if (is_robots && robots_fails) || (!is_robots && rng.chance(trouble)) {
                    target.faults = faults(rng, is_page && !robots_fails);
                }
            }
        }
        site
    }
}

fn faults(rng: &mut Rng, may_time_out: bool) -> Vec<Fault> {
    let wait = if rng.chance(50) { rng.between(1, 20) } else { 0 };
    let all = [
        Fault::Refused,
        Fault::Reset,
        Fault::Cut,
        Fault::Status(503, wait),
        Fault::Status(429, wait),
        Fault::Status(500, 0),
        Fault::Silent,
        Fault::Stalled,
    ];
    let first = *rng.pick(&all);
    match first {
        // a URL that timed out is retried once
        fault if fault.is_timeout() => {
            if may_time_out {
                vec![fault]
            } else {
                vec![Fault::Reset]
            }
        }
        fault if rng.chance(30) => vec![fault, *rng.pick(&all[..6])],
        fault => vec![fault],
    }
}

fn host(rng: &mut Rng, index: usize, counts: &[u64], rounds: u32) -> Host {
    let template: Vec<String> = (0..rng.below(3)).map(|_| words(rng, 14)).collect();
    let mut targets = BTreeMap::new();
    let count = counts[index];
    let page_path = |n: u64| if n == 0 { "/".to_owned() } else { format!("/p{n}") };
    let mut links: Vec<Vec<String>> = vec![Vec::new(); usize::try_from(count).unwrap()];
    let last = links.len();
    for n in 1..count {
        let parent = rng.index(usize::try_from(n).unwrap());
        let way = redirected(rng, index, n, &mut targets).unwrap_or_else(|| url(index, &page_path(n)));
        links[parent].push(way);
        if rng.chance(30) {
            let other = rng.index(counts.len());
            let there = page_path(rng.below(counts[other]));
            links[rng.clone().index(last)].push(url(other, &there));
        }
    }
    let denies = no_pages(rng, index, &mut targets, &mut links);
    links[rng.index(last)].push("http://elsewhere.sim/".into());
    let mut articles: Vec<String> = Vec::new();
    for (n, links) in links.into_iter().enumerate() {
        let text = if n > 0 && rng.chance(8) { rng.pick(&articles).clone() } else { article(rng, &template) };
        articles.push(text.clone());
        let (gzip, etag) = (rng.chance(20), rng.chance(50));
        let title = format!("Page {n} of host {index}");
        let page = Answer::Page { title: title.clone(), article: text, links: links.clone(), gzip, etag };
        let later = (rounds > 1 && n > 0).then(|| later(rng, &template, title, links, gzip, etag)).flatten();
        targets.insert(page_path(n as u64), Target { later, ..Target::of(page) });
    }
    let crawl_delay_s = if rng.chance(15) { rng.between(1, 5) } else { 0 };
    files(rng, index, count, &mut targets, (denies, crawl_delay_s));
    let low = rng.between(1, 100);
    Host {
        name: format!("h{index}.sim"),
        address: IpAddr::from([
            93,
            184,
            216,
            if rng.chance(30) { 1 } else { 10 + u8::try_from(index).unwrap() },
        ]),
        targets,
        crawl_delay_s,
        denies,
        soft404: rng.chance(15),
        latency_ms: (low, low + rng.between(0, 400)),
    }
}

/// Links to paths that are errors, or that robots.txt may disallow. Returns true if it does.
fn no_pages(
    rng: &mut Rng,
    index: usize,
    targets: &mut BTreeMap<String, Target>,
    links: &mut [Vec<String>],
) -> bool {
    let last = links.len();
    for status in [404, 410, 500] {
        if rng.chance(20) {
            let path = format!("/status{status}");
            targets.insert(path.clone(), Target::of(Answer::Status(status)));
            links[rng.index(last)].push(url(index, &path));
        }
    }
    let denies = rng.chance(40);
    if rng.chance(50) {
        let page = Answer::Page {
            title: "Private".into(),
            article: article(rng, &[]),
            links: Vec::new(),
            gzip: false,
            etag: false,
        };
        targets.insert("/private/p".into(), Target::of(page));
        links[rng.index(last)].push(url(index, "/private/p"));
    }
    denies
}

/// Answer of a page in later rounds.
fn later(
    rng: &mut Rng,
    template: &[String],
    title: String,
    links: Vec<String>,
    gzip: bool,
    etag: bool,
) -> Option<Answer> {
    match rng.below(100) {
        0..20 => Some(Answer::Page { title, article: article(rng, template), links, gzip, etag }),
        // pages that only it links to are known
        20..25 => Some(Answer::Status(if rng.chance(50) { 404 } else { 410 })),
        _ => None,
    }
}

/// Sometimes a path to page `n` over redirects.
fn redirected(rng: &mut Rng, index: usize, n: u64, targets: &mut BTreeMap<String, Target>) -> Option<String> {
    if !rng.chance(15) {
        return None;
    }
    let mut to = url(index, &format!("/p{n}"));
    for hop in 0..rng.between(1, 3) {
        let path = if rng.chance(30) { format!("/r{n}x{hop}/") } else { format!("/r{n}x{hop}") };
        let status = *rng.pick(&[301, 302, 303, 307, 308]);
        targets.insert(path.clone(), Target::of(Answer::Redirect { to, status }));
        to = url(index, &path);
        if let Some(bare) = path.strip_suffix('/') {
            // as servers of folders do
            targets.insert(bare.to_owned(), Target::of(Answer::Redirect { to: to.clone(), status: 301 }));
            to = url(index, bare);
        }
    }
    Some(to)
}

/// robots.txt, the sitemap and the opt-out files.
fn files(
    rng: &mut Rng,
    index: usize,
    count: u64,
    targets: &mut BTreeMap<String, Target>,
    (denies, crawl_delay_s): (bool, u64),
) {
    let mut robots = String::from("User-agent: *\n");
    if denies {
        robots.push_str("Disallow: /private/\n");
    }
    if crawl_delay_s > 0 {
        robots.push_str(&format!("Crawl-delay: {crawl_delay_s}\n"));
    }
    if rng.chance(30) {
        robots.push_str(&format!("Sitemap: {}\n", url(index, "/sitemap.xml")));
        let urls: String = (0..count)
            .map(|n| url(index, &if n == 0 { "/".to_owned() } else { format!("/p{n}") }))
            .map(|loc| format!("<url><loc>{loc}</loc></url>"))
            .collect();
        let body = format!(
            "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>"
        );
        targets.insert(
            "/sitemap.xml".into(),
            Target::of(Answer::Text { body, content_type: "application/xml" }),
        );
    }
    let none = !denies && crawl_delay_s == 0 && rng.chance(30);
    let answer =
        if none { Answer::Status(404) } else { Answer::Text { body: robots, content_type: "text/plain" } };
    targets.insert("/robots.txt".into(), Target::of(answer));
    for path in ["/.well-known/tdmrep.json", "/ai.txt"] {
        targets.insert(path.into(), Target::of(Answer::Status(404)));
    }
}
