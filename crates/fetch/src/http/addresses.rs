//! Policy for the addresses that the client may contact.

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Policy for the addresses that a crawl may contact. By default only globally reachable unicast addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Every address may be contacted.
    pub allow_private: bool,
    /// Networks that are allowed besides the public ones.
    pub allow: Vec<IpNet>,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(head: [u16; 3], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(head[0], head[1], head[2], 0, 0, 0, 0, 0), prefix)
}

/// IANA's IPv4 special-purpose registry (RFC 6890 and its updates) without globally reachable blocks, plus
/// multicast and the reserved class E. Cloud metadata services use 169.254.0.0/16, Alibaba's uses
/// 100.64.0.0/10.
const SPECIAL_V4: &[Ipv4Net] = &[
    v4(0, 0, 0, 0, 8),       // this network; 0.0.0.0 reaches the host itself on Linux
    v4(10, 0, 0, 0, 8),      // private
    v4(100, 64, 0, 0, 10),   // shared address space of carriers
    v4(127, 0, 0, 0, 8),     // loopback
    v4(169, 254, 0, 0, 16),  // link-local, cloud metadata
    v4(172, 16, 0, 0, 12),   // private
    v4(192, 0, 0, 0, 24),    // protocol assignments
    v4(192, 0, 2, 0, 24),    // documentation
    v4(192, 88, 99, 0, 24),  // 6to4 relay, withdrawn
    v4(192, 168, 0, 0, 16),  // private
    v4(198, 18, 0, 0, 15),   // benchmarking
    v4(198, 51, 100, 0, 24), // documentation
    v4(203, 0, 113, 0, 24),  // documentation
    v4(224, 0, 0, 0, 4),     // multicast
    v4(240, 0, 0, 0, 4),     // reserved, limited broadcast
];

/// IANA's IPv6 special-purpose registry. Everything outside 2000::/3 is refused before this list.
const SPECIAL_V6: &[Ipv6Net] = &[
    v6([0x2001, 0, 0], 23),     // protocol assignments, Teredo and ORCHID among them
    v6([0x2001, 0xdb8, 0], 32), // documentation
    v6([0x3fff, 0, 0], 20),     // documentation
];

/// Global unicast: the only block that IANA has assigned.
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0], 3);
/// NAT64, well-known prefix: its last 32 bits are an IPv4 address.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);
/// 6to4: bits 16 to 47 are an IPv4 address.
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0], 16);

impl AddressPolicy {
    /// Returns true if the policy allows the address.
    #[must_use]
    pub fn allows(&self, address: IpAddr) -> bool {
        if self.allow_private || is_public(address) {
            return true;
        }
        let plain = unmapped(address);
        self.allow.iter().any(|net| net.contains(&plain) || net.contains(&address))
    }
}

/// Converts an IPv4-mapped IPv6 address (`::ffff:a.b.c.d`) to IPv4.
fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Returns true for a globally reachable unicast address. An IPv6 address that embeds an IPv4 address is as
/// public as that.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match unmapped(address) {
        IpAddr::V4(v4) => !SPECIAL_V4.iter().any(|net| net.contains(&v4)),
        IpAddr::V6(v6) => embedded_v4(v6).map_or_else(
            || GLOBAL_UNICAST.contains(&v6) && !SPECIAL_V6.iter().any(|net| net.contains(&v6)),
            |v4| is_public(IpAddr::V4(v4)),
        ),
    }
}

fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [_, b, c, .., g, h] = address.segments();
    let from = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    if NAT64.contains(&address) {
        Some(from(g, h))
    } else if SIX_TO_FOUR.contains(&address) {
        Some(from(b, c))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::{Host, Url};

    #[test]
    fn public_addresses_pass() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "2606:4700::1111",
            "2a00:1450::1",
            "64:ff9b::808:808",
            "::ffff:8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn special_addresses_are_refused() {
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.66.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "239.1.1.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
        ] {
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
    }

    #[test]
    fn address_literals_in_every_notation_are_refused() {
        for literal in [
            "2852039166",
            "0251.0376.0251.0376",
            "0xa9fea9fe",
            "0xa9.254.43518",
            "169.254.43518",
            "169.254.169.254.",
            "[::ffff:169.254.169.254]",
            "[::ffff:a9fe:a9fe]",
            "１６９.254.169.254",
            "169%2e254.169.254",
        ] {
            let url = Url::parse(&format!("http://{literal}/")).unwrap();
            let address = match url.host().unwrap() {
                Host::Ipv4(v4) => IpAddr::V4(v4),
                Host::Ipv6(v6) => IpAddr::V6(v6),
                Host::Domain(name) => panic!("{literal} stayed the name {name}"),
            };
            assert!(!AddressPolicy::default().allows(address), "{literal}");
        }
    }

    #[test]
    fn allowed_networks_permit_only_their_addresses() {
        let policy = AddressPolicy { allow_private: false, allow: vec!["127.0.0.1/32".parse().unwrap()] };
        assert!(policy.allows("127.0.0.1".parse().unwrap()));
        assert!(policy.allows("::ffff:127.0.0.1".parse().unwrap()));
        assert!(!policy.allows("127.66.0.1".parse().unwrap()));
        assert!(!policy.allows("::1".parse().unwrap()));
        assert!(AddressPolicy { allow_private: true, allow: vec![] }.allows("::1".parse().unwrap()));
    }
}
