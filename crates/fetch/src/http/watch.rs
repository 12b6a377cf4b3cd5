//! Time that requests wait for a host. A slow host holds a slot of the run, so the caller learns of it while
//! the request is running.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

tokio::task_local! {
    static WATCH: Arc<SlowWatch>;
}

/// Signals for a task whose requests have waited long for their hosts in total. Local waits, for the byte
/// budget or for a turn at the host, do not count.
#[derive(Debug)]
pub struct SlowWatch {
    /// Waiting times of the signals, in order.
    after: [Duration; 2],
    /// Waiting time so far.
    total: Mutex<Duration>,
    signals: [Notify; 2],
}

impl SlowWatch {
    /// Creates a watch that signals after this much waiting, and a first time after `first`.
    #[must_use]
    pub fn new(first: Duration, after: Duration) -> Arc<Self> {
        Arc::new(Self { after: [first, after], total: Mutex::default(), signals: Default::default() })
    }

    /// Runs a future under the watch. Only requests in its own task count.
    pub async fn over<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        WATCH.scope(Arc::clone(self), future).await
    }

    /// Waits for the first signal, which is sent once.
    pub async fn first(&self) {
        self.signals[0].notified().await;
    }

    /// Waits for the second signal, which is sent once.
    pub async fn slow(&self) {
        self.signals[1].notified().await;
    }

    /// Returns true if requests were made without the second signal.
    #[must_use]
    pub fn was_quick(&self) -> bool {
        let total = self.total();
        !total.is_zero() && total < self.after[1]
    }

    fn total(&self) -> Duration {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time until the next signal, if there is one.
    fn left(&self) -> Option<Duration> {
        let total = self.total();
        self.after.iter().find(|after| total < **after).map(|after| *after - total)
    }

    fn waited(&self, time: Duration) {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *total;
        *total = total.saturating_add(time);
        for (after, signal) in self.after.iter().zip(&self.signals) {
            if before < *after && *after <= *total {
                signal.notify_one();
            }
        }
    }
}

/// Waits for a host, under the watch of the current task, if any.
pub(super) async fn waiting<F: Future>(host: F) -> F::Output {
    let Ok(watch) = WATCH.try_with(Arc::clone) else { return host.await };
    let mut host = pin!(host);
    while let Some(left) = watch.left() {
        let since = Instant::now();
        tokio::select! {
            biased;
            output = &mut host => {
                watch.waited(since.elapsed());
                return output;
            }
            () = sleep(left) => watch.waited(left),
        }
    }
    host.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn waits_of_a_task_add_up_to_one_slow_signal() {
        let watch = SlowWatch::new(2 * SECOND, 3 * SECOND);
        let began = Instant::now();
        let requests = watch.over(async {
            for _ in 0..4 {
                sleep(SECOND).await;
                waiting(sleep(2 * SECOND)).await;
            }
        });
        let (signalled, ()) = tokio::join!(
            async {
                watch.first().await;
                let first = began.elapsed();
                watch.slow().await;
                [first, began.elapsed()]
            },
            requests
        );
        // its own second, two of waiting, its own second, one of waiting
        assert_eq!(signalled, [3 * SECOND, 5 * SECOND]);
        assert!(!watch.was_quick());
        assert_eq!(began.elapsed(), 12 * SECOND, "the requests go on");
        assert!(timeout(60 * SECOND, watch.slow()).await.is_err(), "each signal is sent once");
    }

    #[tokio::test(start_paused = true)]
    async fn quick_answers_and_other_tasks_give_no_signal() {
        let watch = SlowWatch::new(SECOND, 3 * SECOND);
        assert!(!watch.was_quick(), "there was no request");
        watch.over(waiting(sleep(2 * SECOND))).await;
        assert!(watch.was_quick() && timeout(SECOND, watch.first()).await.is_ok());
        waiting(sleep(60 * SECOND)).await;
        assert!(timeout(SECOND, watch.slow()).await.is_err());
    }
}
