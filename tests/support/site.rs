//! A folder served as a site. Its `_site.toml` adds redirects, statuses, headers, and generated pages. Names
//! that start with `_` are not served, unless it lists them.

use super::server::{Handler, Request, Response};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Rules of a site; an unknown key is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Origin in the pages' own URLs; in text answers it is replaced by the server's.
    pub origin: Option<String>,
    /// Page for missing targets, with status 404.
    pub not_found: Option<String>,
    /// Content types by extension.
    pub types: BTreeMap<String, String>,
    /// Content types of single paths.
    pub path_types: BTreeMap<String, String>,
    /// Served names that start with `_`: folders of frameworks.
    pub underscored: Vec<String>,
    /// Redirects of exact targets.
    pub redirect: Vec<Redirect>,
    /// Statuses of exact targets; the body is the file, if there is one.
    pub status: Vec<Status>,
    /// Headers of everything under a prefix.
    pub header: Vec<ExtraHeader>,
    /// Files for targets with a query; otherwise a query is ignored.
    pub rewrite: Vec<Rewrite>,
    /// Folders in which missing pages are answered with status 200.
    pub soft_404: Vec<SoftNotFound>,
    /// Endless calendar with a page for every month.
    pub calendar: Option<Calendar>,
}

/// A redirect.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redirect {
    from: String,
    to: String,
    status: u16,
}

/// A status.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    path: String,
    status: u16,
}

/// One more header.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraHeader {
    prefix: String,
    name: String,
    value: String,
}

/// A file for a target.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    from: String,
    file: String,
}

/// A page that says "not found" with status 200.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftNotFound {
    prefix: String,
    file: String,
}

/// Calendar: `PREFIX/YYYY/MM/` is `file` with `{{year}}`, `{{month}}`, `{{previous}}` and `{{next}}` filled
/// in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    prefix: String,
    file: String,
}

/// A folder with its rules.
pub struct Site {
    root: PathBuf,
    rules: Rules,
}

impl Site {
    /// Opens a folder; its `_site.toml` may be missing.
    ///
    /// # Errors
    /// When the folder is missing or its rules cannot be read.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let rules = match fs::read_to_string(root.join("_site.toml")) {
            Ok(text) => toml::from_str(&text).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Rules::default(),
            Err(e) => return Err(e),
        };
        Ok(Self { root, rules })
    }

    fn route(&self, request: &Request) -> Response {
        let (target, path) = (request.target.as_str(), request.path());
        if let Some(rule) = self.rules.redirect.iter().find(|r| r.from == target || r.from == path) {
            return Response::redirect(rule.status, &rule.to);
        }
        let mut response = self.page(target, path);
        if let Some(rule) = self.rules.status.iter().find(|r| r.path == path) {
            response.status = rule.status;
        }
        for rule in self.rules.header.iter().filter(|r| path.starts_with(&r.prefix)) {
            response = response.header(&rule.name, &rule.value);
        }
        response
    }

    fn page(&self, target: &str, path: &str) -> Response {
        if let Some(rule) = self.rules.rewrite.iter().find(|r| r.from == target) {
            return self.file(&self.root.join(&rule.file), 200, path);
        }
        if let Some(page) = self.rules.calendar.as_ref().and_then(|c| self.month(c, path)) {
            return page;
        }
        match self.locate(path) {
            Some(file) if file.is_dir() && !path.ends_with('/') => {
                Response::redirect(301, &format!("{path}/"))
            }
            Some(file) if file.is_dir() => self.found(&file.join("index.html"), path),
            Some(file) => self.found(&file, path),
            None => self.missing(path),
        }
    }

    fn found(&self, file: &Path, path: &str) -> Response {
        if file.is_file() { self.file(file, 200, path) } else { self.missing(path) }
    }

    fn missing(&self, path: &str) -> Response {
        if let Some(rule) = self.rules.soft_404.iter().find(|r| path.starts_with(&r.prefix)) {
            return self.file(&self.root.join(&rule.file), 200, path);
        }
        match &self.rules.not_found {
            Some(page) => self.file(&self.root.join(page), 404, path),
            None => Response::status(404),
        }
    }

    /// File or folder of a path; `None` for a path outside of the root or one that must not be served.
    fn locate(&self, path: &str) -> Option<PathBuf> {
        // a session id follows a semicolon in the last segment, as in servlet containers
        let plain = path.split(';').next().unwrap_or_default().trim_start_matches('/');
        let relative = Path::new(plain);
        let fine = relative.components().all(|part| match part {
            Component::Normal(name) => {
                let name = name.to_string_lossy();
                !name.starts_with(['_', '.']) || self.rules.underscored.iter().any(|served| *served == name)
            }
            _ => false,
        });
        (fine && !plain.contains("//")).then(|| self.root.join(relative))
    }

    fn file(&self, file: &Path, status: u16, path: &str) -> Response {
        let Ok(body) = fs::read(file) else { return Response::status(404) };
        let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let known = self.rules.path_types.get(path).or_else(|| self.rules.types.get(extension));
        Response::new(status, known.map_or("application/octet-stream", String::as_str), body)
    }

    fn month(&self, rule: &Calendar, path: &str) -> Option<Response> {
        let (year, month) = path.strip_prefix(&rule.prefix)?.strip_suffix('/')?.split_once('/')?;
        let (year, month) = (year.parse::<i32>().ok()?, month.parse::<i32>().ok()?);
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
            return None;
        }
        let link = |months: i32| {
            let count = year * 12 + month - 1 + months;
            format!("{}{:04}/{:02}/", rule.prefix, count.div_euclid(12), count.rem_euclid(12) + 1)
        };
        let name = MONTHS.get(usize::try_from(month - 1).ok()?)?;
        let page = fs::read_to_string(self.root.join(&rule.file)).ok()?;
        let page = page
            .replace("{{year}}", &year.to_string())
            .replace("{{month}}", name)
            .replace("{{previous}}", &link(-1))
            .replace("{{next}}", &link(1));
        let html = self.rules.types.get("html").map_or("text/html", String::as_str);
        Some(Response::new(200, html, page))
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Handler for Site {
    fn answer(&self, request: &Request) -> Response {
        let mut response = self.route(request);
        let text = response
            .headers
            .iter()
            .any(|(n, v)| n == "Content-Type" && (v.starts_with("text/") || v.contains("xml")));
        if let (true, Some(origin), Some(host)) = (text, &self.rules.origin, request.header("host")) {
            response.body = replace(&response.body, origin.as_bytes(), format!("http://{host}").as_bytes());
        }
        response
    }
}

/// Replaces bytes, since pages have any charset; an origin is ASCII in all served ones.
fn replace(body: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.windows(from.len().max(1)).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}
