//! Samples of a run over time. The interval between samples grows with the length of the run.

use crawl_engine::stats::Stats;
use serde::{Deserialize, Serialize};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Samples that are kept at the most: more than a picture has room for.
const MOST: usize = 600;
/// Pause between the first samples.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The counts of a run at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Milliseconds since the start of the run.
    pub at_ms: u64,
    /// Responses with a body.
    pub pages: u64,
    /// Records written.
    pub records: u64,
    /// URLs that failed.
    pub errors: u64,
    /// Bytes of bodies over the wire.
    pub received_bytes: u64,
}

impl Sample {
    /// The counts now.
    #[must_use]
    pub fn of(stats: &Stats) -> Self {
        Self {
            at_ms: u64::try_from(stats.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            pages: stats.pages.get(),
            records: stats.records.get(),
            errors: stats.failed.get(),
            received_bytes: stats.wire_bytes.get(),
        }
    }
}

/// Samples in their order.
#[derive(Debug, Default)]
pub struct Samples(Mutex<Vec<Sample>>);

impl Samples {
    /// Takes samples until the run ends. Whenever there are too many, every second one goes and the pause doubles.
    pub async fn take(&self, stats: &Stats, done: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::select! {
                () = done.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            if self.add(Sample::of(stats)) {
                pause *= 2;
            }
        }
    }

    /// Adds one; whether every second one went.
    fn add(&self, sample: Sample) -> bool {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push(sample);
        let full = samples.len() >= MOST;
        if full {
            let mut odd = false;
            samples.retain(|_| {
                odd = !odd;
                odd
            });
        }
        full
    }

    /// The samples so far, and the counts now as the last one.
    pub fn until_now(&self, stats: &Stats) -> Vec<Sample> {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        samples.push(Sample::of(stats));
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_run_keeps_few_evenly_spaced_samples() {
        let samples = Samples::default();
        let (mut at_ms, mut pause, mut thinned) = (0, 1, 0);
        while at_ms < 100_000 {
            at_ms += pause;
            if samples.add(Sample { at_ms, ..Sample::default() }) {
                (pause, thinned) = (pause * 2, thinned + 1);
            }
        }
        let kept = samples.0.into_inner().unwrap();
        assert!(kept.len() < MOST && kept.len() >= MOST / 2 && thinned > 3, "{}", kept.len());
        let gaps: Vec<u64> = kept.windows(2).map(|pair| pair[1].at_ms - pair[0].at_ms).collect();
        assert!(gaps.iter().all(|gap| *gap <= 2 * pause), "from the whole time: {gaps:?}");
        assert!(kept[0].at_ms <= pause && kept.last().unwrap().at_ms > 100_000 - 2 * pause);
    }
}
