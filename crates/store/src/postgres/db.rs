//! Connection with its prepared statements.
//!
//! A connection has a runtime of its own. A thread that already drives another one, as those of stages do, must leave it for
//! the time of a call.
//!
//! A statement whose result is not needed at once is only queued ([`Db::post`], [`Db::ask`]). It is sent with the
//! next statement, so that both take one round trip.

use super::error::sql;
use crawl_model::StoreError;
use futures::future::{join, join_all};
use rustc_hash::FxHashMap;
use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tokio::{runtime::Runtime, time::timeout};
use tokio_postgres::{
    Client, Error, Row, Statement,
    types::{FromSql, ToSql},
};

/// Values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Values of a statement that is sent later.
pub(super) type OwnedValues = Vec<Box<dyn ToSql + Sync + Send>>;

/// The task that moves the bytes of a connection.
pub(super) type Driver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

type Posted = Pin<Box<dyn Future<Output = Result<Vec<Row>, Error>> + Send>>;

/// Maximum time for the end of a session.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Makes a call that blocks.
pub(super) fn blocking<T>(call: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(call)
}

/// A connection. Each statement is prepared once.
pub(super) struct Db {
    link: Link,
    /// Statements that are sent with the next one, in this order, with the number of the question that each answers.
    posted: Vec<(Option<u64>, Posted)>,
    answers: FxHashMap<u64, Vec<Row>>,
    questions: u64,
    statements: FxHashMap<&'static str, Statement>,
}

/// Query whose result arrives with that of a later statement.
#[must_use]
pub(super) struct Question(u64);

/// A connection and what drives it.
pub(super) struct Link {
    /// `None` only while it is dropped.
    client: Option<Arc<Client>>,
    /// `None` once the connection has ended.
    driver: Option<Driver>,
    runtime: OwnRuntime,
}

/// The runtime of a connection. It may be dropped on a thread that drives another one.
pub(super) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub(super) fn new() -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| StoreError::Other(format!("a connection to PostgreSQL: {e}")))?;
        Ok(Self(Some(runtime)))
    }

    /// Waits for work. `None` only while the runtime is dropped.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let runtime = self.0.as_ref()?;
        Some(blocking(|| runtime.block_on(work)))
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Link {
    pub(super) fn new(runtime: OwnRuntime, client: Client, driver: Driver) -> Self {
        Self { client: Some(Arc::new(client)), driver: Some(driver), runtime }
    }

    pub(super) fn client(&self) -> Result<Arc<Client>, StoreError> {
        self.client.clone().ok_or_else(closed)
    }

    /// Drives the connection until some work is done. An error of the connection itself comes first: it has the reason.
    pub(super) fn wait<T>(&mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        let driver = &mut self.driver;
        let mut work = pin!(work);
        let drive = poll_fn(|cx| {
            match driver.as_mut().map(|driver| driver.as_mut().poll(cx)) {
                Some(Poll::Ready(Err(error))) => {
                    *driver = None;
                    return Poll::Ready(Err(error));
                }
                Some(Poll::Ready(Ok(()))) => *driver = None,
                Some(Poll::Pending) | None => {}
            }
            work.as_mut().poll(cx)
        });
        self.runtime.wait(drive).ok_or_else(closed)?.map_err(sql)
    }
}

impl Drop for Link {
    /// Says goodbye to the server, which waits for nothing else.
    fn drop(&mut self) {
        self.client = None;
        if let Some(driver) = self.driver.take() {
            let _ = self.runtime.wait(async { timeout(CLOSE_TIMEOUT, driver).await });
        }
    }
}

fn closed() -> StoreError {
    StoreError::Other("the connection is closed".into())
}

impl Drop for Db {
    fn drop(&mut self) {
        // they hold the connection
        self.posted.clear();
    }
}

impl Db {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link,
            posted: Vec::new(),
            answers: FxHashMap::default(),
            questions: 0,
            statements: FxHashMap::default(),
        }
    }

    /// Sends the noted statements and one more, and waits for the results of all.
    fn send<T>(&mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, StoreError> {
        if self.posted.is_empty() {
            return self.link.wait(work);
        }
        let (questions, posted): (Vec<Option<u64>>, Vec<Posted>) =
            std::mem::take(&mut self.posted).into_iter().unzip();
        // in this order: the first poll of each sends its statement
        let all = async {
            let (earlier, done) = join(join_all(posted), work).await;
            // the first error is the cause of later ones
            let earlier = earlier.into_iter().collect::<Result<Vec<Vec<Row>>, Error>>()?;
            Ok((earlier, done?))
        };
        let (earlier, done) = self.link.wait(all)?;
        for (question, rows) in questions.into_iter().zip(earlier) {
            if let Some(question) = question {
                self.answers.insert(question, rows);
            }
        }
        Ok(done)
    }

    fn prepared(&mut self, text: &'static str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let client = self.link.client()?;
        let statement = self.send(async move { client.prepare(text).await })?;
        self.statements.insert(text, statement.clone());
        Ok(statement)
    }

    pub(super) fn rows(&mut self, text: &'static str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(text)?;
        let client = self.link.client()?;
        self.send(async move { client.query(&statement, values).await })
    }

    /// The first row, if there is one.
    pub(super) fn row(&mut self, text: &'static str, values: Values<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(text, values)?.into_iter().next())
    }

    /// The first row of a query that always returns one.
    pub(super) fn one(&mut self, text: &'static str, values: Values<'_>) -> Result<Row, StoreError> {
        self.row(text, values)?.ok_or_else(|| StoreError::Corrupt("a row is missing".into()))
    }

    /// Returns the number of changed rows.
    pub(super) fn execute(&mut self, text: &'static str, values: Values<'_>) -> Result<u64, StoreError> {
        let statement = self.prepared(text)?;
        let client = self.link.client()?;
        self.send(async move { client.execute(&statement, values).await })
    }

    /// Notes a statement that is sent with the next one. The next statement returns its error.
    pub(super) fn post(&mut self, text: &'static str, values: OwnedValues) -> Result<(), StoreError> {
        let future = self.later(text, values)?;
        self.posted.push((None, future));
        Ok(())
    }

    /// Notes a query that is sent with the next statement.
    pub(super) fn ask(&mut self, text: &'static str, values: OwnedValues) -> Result<Question, StoreError> {
        let future = self.later(text, values)?;
        self.questions += 1;
        self.posted.push((Some(self.questions), future));
        Ok(Question(self.questions))
    }

    /// Rows of an earlier question.
    #[expect(clippy::needless_pass_by_value, reason = "a question has one answer")]
    pub(super) fn answer(&mut self, question: Question) -> Result<Vec<Row>, StoreError> {
        if !self.posted.is_empty() {
            self.send(async { Ok(()) })?;
        }
        self.answers.remove(&question.0).ok_or_else(|| StoreError::Other("a query has no answer".into()))
    }

    fn later(&mut self, text: &'static str, values: OwnedValues) -> Result<Posted, StoreError> {
        let statement = self.prepared(text)?;
        let client = self.link.client()?;
        Ok(Box::pin(async move {
            let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| &**value as _).collect();
            client.query(&statement, &values).await
        }))
    }

    /// Notes statements without values that are sent with the next statement.
    pub(super) fn post_batch(&mut self, text: &'static str) -> Result<(), StoreError> {
        let client = self.link.client()?;
        let batch = async move { client.batch_execute(text).await.map(|()| Vec::new()) };
        self.posted.push((None, Box::pin(batch)));
        Ok(())
    }

    /// Drops the statements that were noted and not sent, and ends the transaction without a change.
    pub(super) fn roll_back(&mut self) {
        self.posted.clear();
        if let Err(error) = self.batch("ROLLBACK") {
            tracing::debug!(%error, "rolling back failed");
        }
    }

    /// Runs work with the connection, as copies of tables need it.
    pub(super) fn with_link<T>(
        &mut self,
        work: impl FnOnce(&mut Link) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&mut self.link)
    }

    /// Runs work in one durable transaction, which an error rolls back.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.batch("BEGIN; SET LOCAL synchronous_commit = on")?;
        let done = work(self).and_then(|done| self.batch("COMMIT").map(|()| done));
        if done.is_err() {
            self.roll_back();
        }
        done
    }

    /// Runs statements without values.
    pub(super) fn batch(&mut self, text: &str) -> Result<(), StoreError> {
        let client = self.link.client()?;
        self.send(async move { client.batch_execute(text).await })
    }
}

/// The value of a column.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column).map_err(sql)
}

/// A number of the database as an unsigned one.
pub(super) fn unsigned<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, StoreError> {
    let number: i64 = get(row, column)?;
    T::try_from(number).map_err(|_| StoreError::Corrupt(format!("{number} is out of range")))
}

/// A number as the `integer` of the database, at most its largest value.
pub(super) fn int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The inverse of [`int`].
pub(super) fn uint(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// A code as a `smallint`.
pub(super) fn small(code: i64) -> i16 {
    i16::try_from(code).unwrap_or(i16::MAX)
}

/// Text without the character 0, which PostgreSQL cannot store.
pub(super) fn text(value: &str) -> String {
    if value.contains('\0') { value.replace('\0', "\u{fffd}") } else { value.to_owned() }
}
