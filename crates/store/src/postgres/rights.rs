//! Rights of the database user: a missing one is named with the `GRANT` that gives it. Without this check the server hides a
//! schema, so that its crawl seems to be missing.

use super::{
    connect::Target,
    db::{Db, get},
    migrate::quoted,
};
use crawl_model::StoreError;

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    const fn on_tables(self) -> &'static str {
        match self {
            Self::Read => "SELECT",
            Self::Write => "SELECT, INSERT, UPDATE, DELETE, TRUNCATE",
        }
    }
}

/// The user, and true if it may use the schema.
const SCHEMA: &str = "SELECT current_user::text, has_schema_privilege(oid, 'USAGE'), has_schema_privilege(oid, 'CREATE'), \
                      EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = s.oid AND relname = 'crawls') \
                      FROM pg_namespace s WHERE nspname = $1";

/// The first table that the user may not read, or not write.
const TABLE: &str = "SELECT relname::text FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace \
                     WHERE nspname = $1 AND relkind IN ('r', 'p') AND NOT (has_table_privilege(c.oid, 'SELECT') \
                     AND (NOT $2 OR has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') \
                     AND has_table_privilege(c.oid, 'DELETE') AND has_table_privilege(c.oid, 'TRUNCATE'))) \
                     ORDER BY relname LIMIT 1";

const DATABASE: &str = "SELECT current_user::text, current_database()::text, has_database_privilege(current_database(), 'CREATE')";

/// Checks the rights to a crawl, if its schema exists.
///
/// # Errors
/// [`StoreError::Unavailable`], which names the missing right.
pub(super) fn check(db: &mut Db, target: &Target, access: Access) -> Result<(), StoreError> {
    let schema = quoted(target.schema());
    let Some(row) = db.row(SCHEMA, &[&target.schema()])? else { return Ok(()) };
    let (user, may_use, may_create): (String, bool, bool) = (get(&row, 0)?, get(&row, 1)?, get(&row, 2)?);
    let role = quoted(&user);
    let is_made: bool = get(&row, 3)?;
    let grants = format!(
        "GRANT USAGE ON SCHEMA {schema} TO {role}; GRANT {} ON ALL TABLES IN SCHEMA {schema} TO {role}",
        access.on_tables()
    );
    if !may_use {
        return Err(missing(&format!("the user {role} may not use the schema {schema}"), &grants));
    }
    if !is_made {
        // an operator made an empty schema for a user
        if access == Access::Write && !may_create {
            let grant = format!("GRANT CREATE ON SCHEMA {schema} TO {role}");
            return Err(missing(
                &format!("the user {role} may not create tables in the schema {schema}"),
                &grant,
            ));
        }
        return Ok(());
    }
    if let Some(row) = db.row(TABLE, &[&target.schema(), &(access == Access::Write)])? {
        let verb = if access == Access::Write { "write" } else { "read" };
        let table: &str = get(&row, 0)?;
        return Err(missing(&format!("the user {role} may not {verb} the table {schema}.{table}"), &grants));
    }
    Ok(())
}

/// Checks the right to create the schema of a crawl.
///
/// # Errors
/// [`StoreError::Unavailable`] without that right.
pub(super) fn check_create(db: &mut Db, target: &Target) -> Result<(), StoreError> {
    let row = db.one(DATABASE, &[])?;
    if get(&row, 2)? {
        return Ok(());
    }
    let (role, database) = (quoted(get(&row, 0)?), quoted(get(&row, 1)?));
    let schema = quoted(target.schema());
    Err(missing(
        &format!("the user {role} may not create the schema {schema} in the database {database}"),
        &format!("CREATE SCHEMA {schema} AUTHORIZATION {role}"),
    ))
}

/// The first table that the user does not own, and its owner.
const FOREIGN: &str = "SELECT relname::text, pg_get_userbyid(relowner)::text FROM pg_class c \
                       JOIN pg_namespace s ON s.oid = c.relnamespace WHERE nspname = $1 AND relkind IN ('r', 'p') \
                       AND NOT pg_has_role(relowner, 'USAGE') ORDER BY relname LIMIT 1";

/// The owner of the tables of a crawl.
const OWNER: &str = "SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = 'crawls'::regclass";

/// Checks the rights to change the tables of a crawl. From there on the connection acts as their owner, who owns new tables too.
///
/// # Errors
/// [`StoreError::Unavailable`] without one of them.
pub(super) fn act_as_owner(db: &mut Db, target: &Target) -> Result<(), StoreError> {
    let schema = quoted(target.schema());
    let user: String = get(&db.one("SELECT current_user::text", &[])?, 0)?;
    if let Some(row) = db.row(FOREIGN, &[&target.schema()])? {
        let (table, owner, role): (&str, String, _) = (get(&row, 0)?, quoted(get(&row, 1)?), quoted(&user));
        return Err(missing(
            &format!(
                "an upgrade changes the tables of the schema {schema}, and the user {role} does not own {table}: run it as \
                 the user {owner}"
            ),
            &format!("GRANT {owner} TO {role}"),
        ));
    }
    let owner: String = get(&db.one(OWNER, &[])?, 0)?;
    if owner != user {
        db.batch(&format!("SET ROLE {}", quoted(&owner)))?;
    }
    let Some(row) = db.row(SCHEMA, &[&target.schema()])? else { return Ok(()) };
    if get(&row, 2)? {
        return Ok(());
    }
    let role = quoted(&owner);
    let what = format!("the user {role} may not create tables in the schema {schema}");
    Err(missing(&what, &format!("GRANT CREATE ON SCHEMA {schema} TO {role}")))
}

fn missing(what: &str, remedy: &str) -> StoreError {
    StoreError::Unavailable(format!("{what}; an administrator can allow it: {remedy}"))
}
