//! User at the other end of a loopback connection. Every local user can connect to the proxy; only the
//! browser may use it.
//!
//! A kernel query for the one socket (sock_diag(7)) takes some microseconds. `/proc/net/tcp` is the fallback,
//! since its size grows with the machine's connections.

use rustix::{
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with},
    process::geteuid,
};
use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddrV4},
};

/// `SOCK_DIAG_BY_FAMILY`, the type of the request and of its answer.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `AF_INET` and `IPPROTO_TCP`.
const FAMILY: u8 = 2;
const TCP: u8 = 6;
/// State of a connection that neither end has closed. In other states the kernel may report root for a socket
/// without owner.
const ESTABLISHED: u8 = 1;
/// Length of a message header, and of an answer with it.
const HEADER: usize = 16;
const ANSWER: usize = HEADER + 72;

/// The table of TCP sockets.
const TABLE: &str = "/proc/net/tcp";

/// Socket of a connection: its state and its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    state: u8,
    uid: u32,
}

/// Returns true if the socket at `peer` that is connected to `own` belongs to the user of this process.
pub(super) fn is_own(peer: SocketAddrV4, own: SocketAddrV4) -> bool {
    let socket = by_kernel(peer, own).or_else(|error| {
        tracing::debug!("sock_diag is not available: {error}");
        Ok::<_, io::Error>(in_table(&fs::read_to_string(TABLE)?, peer, own))
    });
    match socket {
        Ok(socket) => socket == Some(Socket { state: ESTABLISHED, uid: geteuid().as_raw() }),
        Err(error) => {
            tracing::warn!("the browser gets no connection: {TABLE} cannot be read: {error}");
            false
        }
    }
}

/// The socket as the kernel reports it; `None` if there is none.
fn by_kernel(peer: SocketAddrV4, own: SocketAddrV4) -> io::Result<Option<Socket>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
    send(&socket, &request(peer, own), SendFlags::empty())?;
    let mut answer = [0; 512];
    // the kernel answers while the request is sent
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    let answer = &answer[..length];
    let kind = answer.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
    if kind != Some(BY_FAMILY) {
        let error = number(answer, HEADER)
            .map(|code| io::Error::from_raw_os_error(code.cast_signed().wrapping_neg()));
        return match error {
            Some(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            error => Err(error.unwrap_or_else(|| io::ErrorKind::InvalidData.into())),
        };
    }
    let fields = (answer.get(HEADER + 1), number(answer, ANSWER - 8), number(answer, ANSWER - 4));
    let (Some(&state), Some(uid), Some(inode)) = fields else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    Ok((inode != 0).then_some(Socket { state, uid }))
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2` of linux/inet_diag.h.
fn request(peer: SocketAddrV4, own: SocketAddrV4) -> Vec<u8> {
    let mut body = vec![FAMILY, TCP, 0, 0];
    // every state, and no cookie
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(peer.port().to_be_bytes());
    body.extend(own.port().to_be_bytes());
    for address in [peer.ip(), own.ip()] {
        body.extend(address.octets());
        body.extend([0; 12]);
    }
    body.extend(0_u32.to_ne_bytes());
    body.extend([u8::MAX; 8]);
    let length = u32::try_from(HEADER + body.len()).unwrap_or_default();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    message
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The socket in the text of the table.
fn in_table(table: &str, peer: SocketAddrV4, own: SocketAddrV4) -> Option<Socket> {
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut fields = fields.filter(|fields| fields.len() > 9);
    let fields = fields.find(|fields| address(fields[1]) == Some(peer) && address(fields[2]) == Some(own))?;
    let state = u8::from_str_radix(fields[3], 16).ok()?;
    let uid = fields[7].parse().ok()?;
    (fields[9] != "0").then_some(Socket { state, uid })
}

/// An address in the table's format: the number in memory order and the port, both hexadecimal.
fn address(text: &str) -> Option<SocketAddrV4> {
    let (address, port) = text.split_once(':')?;
    let address = u32::from_str_radix(address, 16).ok()?.to_ne_bytes();
    Some(SocketAddrV4::new(Ipv4Addr::from(address), u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{SocketAddr, TcpListener, TcpStream};

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        match address {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(address) => panic!("{address}"),
        }
    }

    #[test]
    fn kernel_and_table_agree_on_a_connections_user() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        let (peer, own) = (v4(server.peer_addr().unwrap()), v4(server.local_addr().unwrap()));
        let expected = Some(Socket { state: ESTABLISHED, uid: geteuid().as_raw() });
        let table = || in_table(&fs::read_to_string(TABLE).unwrap(), peer, own);
        assert_eq!((by_kernel(peer, own).unwrap(), table()), (expected, expected));
        assert!(is_own(peer, own));
        let nobody = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 77), peer.port());
        assert_eq!(by_kernel(nobody, own).unwrap(), None);
        assert!(!is_own(nobody, own));
        drop(client);
        // a socket that its owner has closed counts as root's
        assert!(!is_own(peer, own), "{:?} {:?}", by_kernel(peer, own), table());
    }
}
