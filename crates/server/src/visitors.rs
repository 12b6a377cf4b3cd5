//! Clients of a server. Connections and requests without a token are bounded, in total and for each address. They
//! cannot block clients with a token.

use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv6Addr},
    num::NonZeroU32,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Requests without a token a second, of one address and of all.
const RATE_OF_ADDRESS: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);
const RATE_OF_ALL: NonZeroU32 = NonZeroU32::MIN.saturating_add(399);
/// Requests without a token on one connection; the answer to the last one closes the connection.
const REQUESTS_OF_CONNECTION: u32 = 32;
/// Addresses whose rates are kept.
const KEPT_ADDRESSES: usize = 10_000;

/// Bounds of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Longest time for headers, for a pause between requests, for a write, and for a connection without a token.
    pub timeout: Duration,
}

/// Open connections of a server. If all permits are taken, a new connection replaces the oldest one without a token.
pub struct Visitors {
    limits: Limits,
    open: Arc<Mutex<Open>>,
    left: Arc<Notify>,
    rates: Arc<Rates>,
}

#[derive(Default)]
struct Open {
    entered: u64,
    passes: BTreeMap<u64, Pass>,
}

/// Place of a connection, free again once this is dropped.
pub struct Visitor {
    number: u64,
    pass: Pass,
    timeout: Duration,
    open: Arc<Mutex<Open>>,
    left: Arc<Notify>,
}

/// Standing of a connection, given to each of its requests.
#[derive(Clone)]
pub struct Pass(Arc<ConnectionState>);

struct ConnectionState {
    network: IpAddr,
    has_token: AtomicBool,
    requests: AtomicU32,
    closed: CancellationToken,
    rates: Arc<Rates>,
}

/// Rates of requests without a token.
struct Rates {
    of_all: DefaultDirectRateLimiter,
    of_address: DefaultKeyedRateLimiter<IpAddr>,
}

/// Permission for a request without a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Answered.
    Granted,
    /// Answered, and the connection is closed.
    Last,
    /// Refused: too many requests came before it.
    Refused,
}

impl Visitors {
    /// No connections.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let rates = Rates {
            of_all: RateLimiter::direct(Quota::per_second(RATE_OF_ALL)),
            of_address: RateLimiter::hashmap(Quota::per_second(RATE_OF_ADDRESS)),
        };
        Self { limits, open: Arc::default(), left: Arc::default(), rates: Arc::new(rates) }
    }

    /// Takes a place for a connection. Waits while all connections have shown a token.
    pub async fn enter(&self, address: IpAddr) -> Visitor {
        loop {
            if let Some(visitor) = self.admit(network(address)) {
                return visitor;
            }
            self.left.notified().await;
        }
    }

    fn admit(&self, network: IpAddr) -> Option<Visitor> {
        let mut open = lock(&self.open);
        if !open.make_room(network, self.limits.connections) {
            return None;
        }
        let pass = Pass(Arc::new(ConnectionState {
            network,
            has_token: AtomicBool::new(false),
            requests: AtomicU32::new(0),
            closed: CancellationToken::new(),
            rates: Arc::clone(&self.rates),
        }));
        open.entered += 1;
        let number = open.entered;
        open.passes.insert(number, pass.clone());
        let (open, left) = (Arc::clone(&self.open), Arc::clone(&self.left));
        Some(Visitor { number, pass, timeout: self.limits.timeout, open, left })
    }
}

impl Open {
    /// Returns true if there is a place for a connection, after closing one without a token if need be.
    fn make_room(&mut self, network: IpAddr, most: usize) -> bool {
        let of_network = self.without_token(Some(network));
        let oldest = if of_network.len() >= most.div_ceil(2) {
            of_network.first().copied()
        } else if self.passes.len() >= most {
            self.without_token(None).first().copied()
        } else {
            return true;
        };
        let Some(pass) = oldest.and_then(|number| self.passes.remove(&number)) else { return false };
        pass.0.closed.cancel();
        true
    }

    /// Connections that have shown no token, oldest first.
    fn without_token(&self, network: Option<IpAddr>) -> Vec<u64> {
        let is_asked = |pass: &Pass| network.is_none_or(|network| pass.0.network == network);
        let without = self.passes.iter().filter(|(_, pass)| !pass.has_token() && is_asked(pass));
        without.map(|(number, _)| *number).collect()
    }
}

impl Visitor {
    /// The standing that the requests of the connection carry.
    #[must_use]
    pub fn pass(&self) -> Pass {
        self.pass.clone()
    }

    /// Waits until the connection has to be closed: for another one, or since it has shown no token for too long.
    pub async fn wait_for_dismissal(&self) {
        tokio::select! {
            () = self.pass.0.closed.cancelled() => return,
            () = tokio::time::sleep(self.timeout) => {}
        }
        if self.pass.has_token() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        lock(&self.open).passes.remove(&self.number);
        self.left.notify_one();
    }
}

impl Pass {
    fn has_token(&self) -> bool {
        self.0.has_token.load(Relaxed)
    }

    /// Notes that a request has shown the token.
    pub fn show_token(&self) {
        self.0.has_token.store(true, Relaxed);
    }

    /// Counts a request without a token.
    #[must_use]
    pub fn request(&self) -> Permission {
        let ConnectionState { network, requests, rates, .. } = &*self.0;
        if rates.of_address.len() > KEPT_ADDRESSES {
            rates.of_address.retain_recent();
        }
        if rates.of_address.check_key(network).is_err() || rates.of_all.check().is_err() {
            Permission::Refused
        } else if requests.fetch_add(1, Relaxed) + 1 >= REQUESTS_OF_CONNECTION {
            Permission::Last
        } else {
            Permission::Granted
        }
    }
}

/// The part of an address that one client has to itself: all of IPv4, 64 bits of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use tokio::time::timeout;

    const LIMITS: Limits = Limits { connections: 4, timeout: Duration::from_secs(30) };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    async fn is_now(future: impl Future<Output = ()>) -> bool {
        timeout(Duration::from_millis(1), future).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn oldest_connection_without_a_token_is_evicted() {
        let visitors = Visitors::new(LIMITS);
        let trusted = visitors.enter(address(1)).await;
        trusted.pass().show_token();
        let one = visitors.enter(address(1)).await;
        let two = visitors.enter(address(1)).await;
        // one address has at most half of the places
        let three = visitors.enter(address(1)).await;
        assert!(is_now(one.wait_for_dismissal()).await && !is_now(two.wait_for_dismissal()).await);
        let other = visitors.enter(address(2)).await;
        let last = visitors.enter(address(3)).await;
        assert!(is_now(two.wait_for_dismissal()).await, "all places were taken");
        for visitor in [&trusted, &three, &other, &last] {
            assert!(!is_now(visitor.wait_for_dismissal()).await);
            visitor.pass().show_token();
        }
        assert!(timeout(Duration::from_secs(300), visitors.enter(address(4))).await.is_err());
        drop(three);
        visitors.enter(address(4)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn connection_without_a_token_times_out() {
        let visitors = Visitors::new(LIMITS);
        let visitor = visitors.enter(address(1)).await;
        let trusted = visitors.enter(address(1)).await;
        trusted.pass().show_token();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(timeout(Duration::from_secs(31), visitor.wait_for_dismissal()).await.is_ok());
        assert!(timeout(Duration::from_secs(3000), trusted.wait_for_dismissal()).await.is_err());
    }

    #[tokio::test]
    async fn requests_without_a_token_are_bounded_by_connection_and_address() {
        let visitors = Visitors::new(LIMITS);
        let [one, other] = [visitors.enter(address(1)).await, visitors.enter(address(2)).await];
        let answers: Vec<Permission> = (0..200).map(|_| one.pass().request()).collect();
        let most = REQUESTS_OF_CONNECTION as usize;
        assert!(answers[..most - 1].iter().all(|answer| *answer == Permission::Granted));
        assert_eq!(answers[most - 1], Permission::Last);
        assert_eq!(answers.last(), Some(&Permission::Refused));
        assert_eq!(other.pass().request(), Permission::Granted);
    }

    #[test]
    fn ipv6_client_is_identified_by_its_64_bit_prefix() {
        let network = |text: &str| network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
