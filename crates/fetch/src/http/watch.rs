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

/// Signal for a task whose requests have waited long for their hosts in total. Local waits, for the byte
/// budget or for a turn at the host, do not count.
#[derive(Debug)]
pub struct SlowWatch {
    after: Duration,
    /// Remaining time; `None` after the signal.
    left: Mutex<Option<Duration>>,
    signal: Notify,
}

impl SlowWatch {
    /// Creates a watch that signals after this much waiting.
    #[must_use]
    pub fn new(after: Duration) -> Arc<Self> {
        Arc::new(Self { after, left: Mutex::new(Some(after)), signal: Notify::new() })
    }

    /// Runs a future under the watch. Only requests in its own task count.
    pub async fn over<F: Future>(self: &Arc<Self>, future: F) -> F::Output {
        WATCH.scope(Arc::clone(self), future).await
    }

    /// Waits for the signal, which is sent once.
    pub async fn slow(&self) {
        self.signal.notified().await;
    }

    /// Returns true if requests were made without a signal.
    #[must_use]
    pub fn was_quick(&self) -> bool {
        self.left().is_some_and(|left| left < self.after)
    }

    fn left(&self) -> Option<Duration> {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waited(&self, time: Duration) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rest) = *left {
            *left = rest.checked_sub(time).filter(|rest| !rest.is_zero());
            if left.is_none() {
                self.signal.notify_one();
            }
        }
    }
}

/// Waits for a host, under the watch of the current task, if any.
pub(super) async fn waiting<F: Future>(host: F) -> F::Output {
    let watch = WATCH.try_with(Arc::clone).ok().and_then(|watch| Some((watch.left()?, watch)));
    let Some((left, watch)) = watch else { return host.await };
    let since = Instant::now();
    let mut host = pin!(host);
    tokio::select! {
        biased;
        output = &mut host => {
            watch.waited(since.elapsed());
            output
        }
        () = sleep(left) => {
            watch.waited(left);
            host.await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn waits_of_a_task_add_up_to_one_slow_signal() {
        let watch = SlowWatch::new(3 * SECOND);
        let began = Instant::now();
        let requests = watch.over(async {
            for _ in 0..4 {
                sleep(SECOND).await;
                waiting(sleep(2 * SECOND)).await;
            }
        });
        let (signalled, ()) = tokio::join!(
            async {
                watch.slow().await;
                began.elapsed()
            },
            requests
        );
        assert_eq!(signalled, 5 * SECOND, "its own second, two of waiting, its own second, one of waiting");
        assert_eq!(began.elapsed(), 12 * SECOND, "the requests go on");
        assert!(timeout(60 * SECOND, watch.slow()).await.is_err(), "there is one signal");
    }

    #[tokio::test(start_paused = true)]
    async fn quick_answers_and_other_tasks_give_no_signal() {
        let watch = SlowWatch::new(3 * SECOND);
        watch.over(waiting(sleep(2 * SECOND))).await;
        waiting(sleep(60 * SECOND)).await;
        assert!(timeout(SECOND, watch.slow()).await.is_err());
    }
}
