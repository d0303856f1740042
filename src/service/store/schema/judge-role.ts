import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'

export const ROLE_REMEDY =
  'run db/grants.sql, and name the role notifications_service in DATABASE_URL: see src/deploy/README.md'

/** The fault of a role that owns the tables, directly or as a superuser; null if it has only granted rights. */
export async function judgeRole(pool: CommonQueryMethods): Promise<string | null> {
  const { name, isSuperuser, isOwner } = await pool.one(
    sql.type(z.object({ name: z.string(), isSuperuser: z.boolean(), isOwner: z.boolean() }))`
      SELECT current_user AS name, rolsuper AS "isSuperuser", pg_has_role(relowner, 'USAGE') AS "isOwner"
      FROM pg_catalog.pg_roles, pg_catalog.pg_class
      WHERE rolname = current_user AND pg_class.oid = 'notifications.notification_log'::regclass`,
  )
  if (!isOwner) return null
  const what = isSuperuser ? 'is a superuser' : 'owns the tables'
  return `the database role ${name} ${what}: it could delete rows, change decisions and drop the log, which the service never does`
}
