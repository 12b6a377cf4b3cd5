//! Slower requests after 429 and 503.

use super::*;

/// Pauses of host `a` after each of these answers, one request at a time.
async fn delays(gate: &Gate, answers: &[u16]) -> Vec<u128> {
    let mut found = Vec::new();
    for code in answers {
        let slot = gate.acquire(&key("a")).await;
        advance(Duration::from_millis(1)).await;
        slot.finish(status(*code));
        found.push(gate.delay(&key("a")).as_millis());
    }
    found
}

#[tokio::test(start_paused = true)]
async fn throttled_host_slows_down_and_recovers_slowly() {
    let gate = Gate::new(PolitenessSettings { forgiveness: 0.5, ..exact(200) });
    let found = delays(&gate, &[429, 429, 200, 500, 200, 404, 200]).await;
    assert_eq!(found, [500, 1000, 500, 500, 250, 200, 200]);
    // a single 503 may be the page's own fault
    assert_eq!(delays(&gate, &[503, 200, 503, 503, 200, 200]).await, [375, 200, 375, 750, 375, 200]);
}

#[tokio::test(start_paused = true)]
async fn url_refused_again_does_not_slow_its_host() {
    let gate = Gate::new(exact(200));
    let refused = async |path: &str, expected| {
        let slot = gate.acquire(&key("a")).await;
        advance(Duration::from_millis(1)).await;
        slot.finish(status(429).of_url(&url::Url::parse(&format!("http://a{path}")).unwrap()));
        assert_eq!(gate.delay(&key("a")), Duration::from_millis(expected), "{path}");
    };
    refused("/x", 500).await;
    refused("/x", 500).await;
    refused("/y", 1000).await;
    refused("/x", 1000).await;
}

#[tokio::test(start_paused = true)]
async fn retry_after_slows_the_host_less() {
    let gate = Gate::new(exact(200));
    let busy = SlotOutcome { retry_after: Some(Duration::from_secs(2)), ..status(503) };
    gate.acquire(&key("a")).await.finish(busy);
    assert_eq!(gate.delay(&key("a")), Duration::from_millis(375));
    assert_eq!(wait(&gate, "a"), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn concurrent_throttled_answers_slow_the_host_once() {
    let gate = Gate::new(PolitenessSettings { host_concurrency: 8, ..exact(0) });
    let slots: Vec<_> = (0..8).map(|_| gate.try_acquire(&key("a")).ok().unwrap()).collect();
    advance(Duration::from_millis(1)).await;
    slots.into_iter().for_each(|slot| slot.finish(status(429)));
    assert_eq!(gate.delay(&key("a")), Duration::from_millis(500));
}
