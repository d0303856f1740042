import { type FragmentSqlToken, sql } from 'slonik'

/** A time as the driver's parser writes it (see pool.ts). */
export function isoTime(time: FragmentSqlToken) {
  return sql.fragment`to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
}
