//! Limits of hosts on one address.

use super::*;

#[tokio::test(start_paused = true)]
async fn hosts_on_one_address_share_a_limit() {
    let book = AddressBook::default();
    let shared = "192.0.2.1".parse().unwrap();
    book.note(&key("a"), shared);
    book.note(&key("b"), shared);
    book.note(&key("c"), "192.0.2.2".parse().unwrap());
    let gate = Gate::with_addresses(exact(1_000), book);
    let first = gate.try_acquire(&key("a")).ok().unwrap();
    assert_eq!(wait(&gate, "b"), Duration::from_millis(250));
    assert_eq!(gate.try_acquire(&key("b")).err().unwrap().address, Some(shared));
    assert!(gate.try_acquire(&key("c")).is_ok() && gate.try_acquire(&key("unknown")).is_ok());
    drop(first);
    advance(Duration::from_millis(250)).await;
    gate.try_acquire(&key("b")).ok().unwrap().finish(status(200));
    assert_eq!(wait(&gate, "b"), Duration::from_secs(1), "its own pause is the longer one");
    assert_eq!(gate.try_acquire(&key("b")).err().unwrap().address, None);
    advance(Duration::from_millis(750)).await;
    let other = gate.try_acquire(&key("a")).ok().unwrap();
    advance(Duration::from_millis(100)).await;
    assert_eq!(wait(&gate, "b"), Duration::from_millis(150));
    advance(Duration::from_millis(150)).await;
    assert!(gate.try_acquire(&key("b")).is_ok(), "waiting for the address costs the host nothing");
    drop(other);
}

#[tokio::test(start_paused = true)]
async fn returned_slot_returns_its_own_address_turn() {
    let book = AddressBook::default();
    let gate = Gate::with_addresses(exact(1_000), book.clone());
    let mut early = gate.try_acquire(&key("c")).ok().unwrap();
    for host in ["a", "b", "c"] {
        book.note(&key(host), "192.0.2.1".parse().unwrap());
    }
    gate.try_acquire(&key("a")).ok().unwrap().give_back();
    let other = gate.try_acquire(&key("b")).ok().unwrap();
    advance(Duration::from_millis(250)).await;
    let later = gate.try_acquire(&key("a")).ok().unwrap();
    other.give_back();
    assert_eq!(wait(&gate, "b"), Duration::from_millis(250), "the request to the other host has just begun");
    later.give_back();
    assert!(gate.begin_at_address(&mut early));
    assert_eq!(wait(&gate, "b"), Duration::from_millis(250));
    early.give_back();
    assert!(gate.try_acquire(&key("b")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn address_learned_while_holding_a_slot_is_limited() {
    let book = AddressBook::default();
    let gate = Gate::with_addresses(exact(1_000), book.clone());
    let (mut first, mut second) =
        (gate.try_acquire(&key("a")).ok().unwrap(), gate.try_acquire(&key("b")).ok().unwrap());
    assert!(gate.needs_address(&key("a")) && gate.begin_at_address(&mut first), "nothing is known");
    for host in ["a", "b"] {
        book.note(&key(host), "192.0.2.1".parse().unwrap());
    }
    assert!(!gate.needs_address(&key("a")));
    assert!(gate.begin_at_address(&mut first) && !gate.begin_at_address(&mut second));
    second.give_back();
    assert_eq!(wait(&gate, "b"), Duration::from_millis(250));
    drop(first);
    assert!(!Gate::new(exact(0)).needs_address(&key("a")), "without a delay nothing is looked up");
}

#[test]
fn address_literal_host_needs_no_lookup() {
    let book = AddressBook::default();
    let address = |name: &str| book.address_of(&key(name)).map(|address| address.to_string());
    assert_eq!(address("192.0.2.1").as_deref(), Some("192.0.2.1"));
    assert_eq!(address("192.0.2.1:8080").as_deref(), Some("192.0.2.1"));
    assert_eq!(address("[2001:db8::1]").as_deref(), Some("2001:db8::1"));
    assert_eq!(address("[2001:db8::1]:8080").as_deref(), Some("2001:db8::1"));
    assert!(["h.test", "h.test:80", "192.0.2", ""].iter().all(|name| address(name).is_none()));
    book.note(&key("192.0.2.1"), "192.0.2.9".parse().unwrap());
    assert_eq!(address("192.0.2.1").as_deref(), Some("192.0.2.9"), "where it was reached");
}
