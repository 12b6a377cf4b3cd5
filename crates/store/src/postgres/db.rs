//! Connection with its prepared statements.
//!
//! The client drives its own runtime. A thread that already drives another one, as those of stages do, must leave it for
//! the time of a call.

use super::error::sql;
use crawl_model::StoreError;
use postgres::{
    Client, Error, Row, Statement,
    types::{FromSql, ToSql},
};
use rustc_hash::FxHashMap;

/// Values of a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Makes a call of the client, which blocks.
pub(super) fn blocking<T>(call: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(call)
}

/// A connection. Each statement is prepared once.
pub(super) struct Db {
    /// `None` only while it is dropped.
    client: Option<Client>,
    statements: FxHashMap<&'static str, Statement>,
}

impl Drop for Db {
    fn drop(&mut self) {
        let client = self.client.take();
        blocking(|| drop(client));
    }
}

impl Db {
    pub(super) fn new(client: Client) -> Self {
        Self { client: Some(client), statements: FxHashMap::default() }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut Client) -> Result<T, Error>) -> Result<T, StoreError> {
        let client =
            self.client.as_mut().ok_or_else(|| StoreError::Other("the connection is closed".into()))?;
        blocking(|| call(client)).map_err(sql)
    }

    fn prepared(&mut self, text: &'static str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.call(|client| client.prepare(text))?;
        self.statements.insert(text, statement.clone());
        Ok(statement)
    }

    pub(super) fn rows(&mut self, text: &'static str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(text)?;
        self.call(|client| client.query(&statement, values))
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
        self.call(|client| client.execute(&statement, values))
    }

    /// Runs work with the client, as copies of tables need it.
    pub(super) fn with_client<T>(
        &mut self,
        work: impl FnOnce(&mut Client) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let client =
            self.client.as_mut().ok_or_else(|| StoreError::Other("the connection is closed".into()))?;
        blocking(|| work(client))
    }

    /// Runs work in one durable transaction, which an error rolls back.
    pub(super) fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.batch("BEGIN; SET LOCAL synchronous_commit = on")?;
        let done = work(self).and_then(|done| self.batch("COMMIT").map(|()| done));
        if done.is_err()
            && let Err(error) = self.batch("ROLLBACK")
        {
            tracing::debug!(%error, "rolling back failed");
        }
        done
    }

    /// Runs statements without values.
    pub(super) fn batch(&mut self, text: &str) -> Result<(), StoreError> {
        self.call(|client| client.batch_execute(text))
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
