//! Metrics: names, meanings, and the source of each number.

use crawl_engine::{
    context::Context,
    latency::{BUCKETS, Latency},
    stats::{HostFigures, Stats},
};
use crawl_model::FrontierCounts;
use prometheus::{
    Encoder, TextEncoder,
    core::Collector,
    process_collector::ProcessCollector,
    proto::{Bucket, Counter, Gauge, Histogram, LabelPair, Metric, MetricFamily, MetricType},
};
use std::sync::Arc;

/// A sample: the value of its label, where the family has one, and a number.
type Sample = (String, f64);

/// The counts in the text format of Prometheus.
///
/// # Errors
/// When storage fails, or a family cannot be written.
pub async fn text(context: &Arc<Context>) -> anyhow::Result<String> {
    let (counts, last_success) =
        context.in_storage(|context| Ok((context.store.counts()?, context.last_success_ms()?))).await?;
    let mut families = run(&context.stats);
    families.extend(state(&counts, context));
    families.extend(end(context, last_success));
    families.extend(hosts(&context.stats, context.config.metrics.hosts));
    families.push(response_times(&context.stats.latency()));
    families.extend(ProcessCollector::for_self().collect());
    // the encoder refuses a family without a sample, such as errors by kind before the first error
    families.retain(|family| !family.get_metric().is_empty());
    let mut out = Vec::new();
    TextEncoder::new().encode(&families, &mut out)?;
    Ok(String::from_utf8(out)?)
}

/// Counters of the run.
fn run(stats: &Stats) -> Vec<MetricFamily> {
    let one = |count: u64| vec![(String::new(), number(count))];
    let statuses = stats.statuses().into_iter().map(|(status, n)| (status.to_string(), number(n))).collect();
    let strategies = stats.strategies().into_iter().map(|(s, n)| (s.name().to_owned(), number(n))).collect();
    let kinds = stats.kinds().into_iter().map(|(kind, n)| (kind.to_owned(), number(n))).collect();
    let unrendered = stats.not_rendered().into_iter().map(|(kind, n)| (kind.to_owned(), number(n))).collect();
    let changes = [
        ("new", &stats.pages_new),
        ("changed", &stats.pages_changed),
        ("unchanged", &stats.pages_unchanged),
        ("gone", &stats.pages_gone),
    ]
    .map(|(change, count)| (change.to_owned(), number(count.get())));
    vec![
        counter("records_total", "Records written.", "", one(stats.records.get())),
        counter("pages_total", "Responses with a body that was read.", "", one(stats.pages.get())),
        counter("responses_total", "Responses by HTTP status.", "status", statuses),
        counter("page_strategies_total", "Pages by the strategy that brought them.", "strategy", strategies),
        counter(
            "changes_total",
            "Pages by what became of them since the last visit.",
            "change",
            changes.to_vec(),
        ),
        counter("errors_total", "URLs that failed.", "", one(stats.failed.get())),
        counter("no_record_total", "URLs that ended without a record, by reason.", "kind", kinds),
        counter("unrendered_total", "Pages that needed a browser and had none.", "kind", unrendered),
        counter(
            "received_bytes_total",
            "Bodies as they came over the wire.",
            "",
            one(stats.wire_bytes.get()),
        ),
        counter("html_bytes_total", "Decoded bodies.", "", one(stats.body_bytes.get())),
        counter("content_bytes_total", "Extracted text.", "", one(stats.content_bytes.get())),
        counter(
            "boilerplate_bytes_total",
            "Text removed since its site repeats it.",
            "",
            one(stats.removed_bytes.get()),
        ),
        counter("written_bytes_total", "Records.", "", one(stats.written_bytes.get())),
        counter("duplicates_total", "Records that are a duplicate.", "", one(stats.duplicates.get())),
        counter(
            "site_template_records_total",
            "Records extracted by the evidence of their site.",
            "",
            one(stats.by_site.get()),
        ),
        counter("soft_404s_total", "Records of error pages with status 200.", "", one(stats.soft_404s.get())),
        counter("empty_pages_total", "Records without text.", "", one(stats.all_boilerplate.get())),
    ]
}

/// Gauges of the current state.
fn state(counts: &FrontierCounts, context: &Context) -> Vec<MetricFamily> {
    let frontier = [("queued", counts.pending), ("in_flight", counts.leased), ("held", counts.held)]
        .map(|(s, n)| (s.to_owned(), number(n)));
    let hosts = u64::try_from(context.stats.host_count()).unwrap_or(u64::MAX);
    let one = |value: f64| vec![(String::new(), value)];
    vec![
        gauge(
            "frontier_urls",
            "URLs of this round that have not ended, by state.",
            "state",
            frontier.to_vec(),
        ),
        gauge("hosts", "Hosts that have answered.", "", one(number(hosts))),
        gauge(
            "running_seconds",
            "Since the start of the run.",
            "",
            one(context.stats.started.elapsed().as_secs_f64()),
        ),
    ]
}

/// Exit code, once the run has ended, and the end of the last successful run.
fn end(context: &Context, last_success_ms: Option<i64>) -> Vec<MetricFamily> {
    let one = |value: Option<f64>| value.map(|value| (String::new(), value)).into_iter().collect();
    let exit = context.control.exit.get().map(|exit| f64::from(*exit as u8));
    let success = last_success_ms.and_then(|ms| u64::try_from(ms).ok()).map(seconds);
    vec![
        gauge("exit_code", "Exit code of the run, once it has ended.", "", one(exit)),
        gauge(
            "last_success_timestamp_seconds",
            "End of the last run with exit code 0 or 5, since the Unix epoch.",
            "",
            one(success),
        ),
    ]
}

/// Counts of the hosts with most requests.
fn hosts(stats: &Stats, limit: usize) -> Vec<MetricFamily> {
    let busiest = stats.busiest(limit);
    let each = |of: fn(&HostFigures) -> u64| {
        busiest.iter().map(|(host, figures)| (host.to_string(), number(of(figures)))).collect()
    };
    vec![
        gauge(
            "host_responses",
            "Responses of a host in this run.",
            "host",
            each(|host| host.latency.count()),
        ),
        gauge("host_records", "Records of a host in this run.", "host", each(|host| host.records)),
        gauge("host_errors", "Failed URLs of a host in this run.", "host", each(|host| host.errors)),
    ]
}

fn response_times(latency: &Latency) -> MetricFamily {
    let buckets = latency.cumulative().map(|(bound_ms, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(seconds(bound_ms));
        bucket.set_cumulative_count(count);
        bucket
    });
    let mut histogram = Histogram::default();
    // the encoder adds the last bucket, +Inf
    histogram.set_bucket(buckets.take(BUCKETS - 1).collect());
    histogram.set_sample_count(latency.count());
    histogram.set_sample_sum(seconds(latency.total_ms()));
    let mut metric = Metric::default();
    metric.set_histogram(histogram);
    family("response_seconds", "How long responses took.", MetricType::HISTOGRAM, vec![metric])
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of a run are far below what a float holds exactly"
)]
fn seconds(millis: u64) -> f64 {
    millis as f64 / 1e3
}

fn counter(name: &str, help: &str, label: &str, samples: Vec<Sample>) -> MetricFamily {
    let metrics = samples.into_iter().map(|(value, count)| {
        let mut counter = Counter::default();
        counter.set_value(count);
        let mut metric = labelled(label, value);
        metric.set_counter(counter);
        metric
    });
    family(name, help, MetricType::COUNTER, metrics.collect())
}

fn gauge(name: &str, help: &str, label: &str, samples: Vec<Sample>) -> MetricFamily {
    let metrics = samples.into_iter().map(|(value, count)| {
        let mut gauge = Gauge::default();
        gauge.set_value(count);
        let mut metric = labelled(label, value);
        metric.set_gauge(gauge);
        metric
    });
    family(name, help, MetricType::GAUGE, metrics.collect())
}

#[expect(clippy::cast_precision_loss, reason = "the format knows floats alone")]
fn number(count: u64) -> f64 {
    count as f64
}

fn labelled(label: &str, value: String) -> Metric {
    let mut metric = Metric::default();
    if !label.is_empty() {
        let mut pair = LabelPair::default();
        pair.set_name(label.to_owned());
        pair.set_value(value);
        metric.set_label(vec![pair]);
    }
    metric
}

fn family(name: &str, help: &str, kind: MetricType, metrics: Vec<Metric>) -> MetricFamily {
    let mut family = MetricFamily::default();
    family.set_name(format!("crawl_{name}"));
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(metrics);
    family
}
