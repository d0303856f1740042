import { type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { type ArrayElement, type ArrayType, binaryArray } from './binary-array.ts'

/** Type and cast of each parameter. A time and a boolean are sent as text. */
const CASTS = {
  text: { type: 'text', cast: sql.fragment`text[]` },
  jsonb: { type: 'jsonb', cast: sql.fragment`jsonb[]` },
  int4: { type: 'int4', cast: sql.fragment`int4[]` },
  int8: { type: 'int8', cast: sql.fragment`int8[]` },
  boolean: { type: 'text', cast: sql.fragment`text[]::boolean[]` },
  timestamptz: { type: 'text', cast: sql.fragment`text[]::timestamptz[]` },
} as const satisfies Record<string, { type: ArrayType; cast: unknown }>

type ColumnType = keyof typeof CASTS

export function sqlArray(columnType: ColumnType, values: readonly ArrayElement[]) {
  return sqlColumns(values)(columnType, (value) => value)
}

/**
 * Converts rows to one array parameter per column, for `unnest`: a statement has the same number of parameters, whatever the
 * number of rows. Usage: `const column = sqlColumns(rows)`, then `${column('text', (row) => row.name)}`.
 */
export function sqlColumns<Row>(rows: readonly Row[]) {
  return (columnType: ColumnType, toElement: (row: Row) => ArrayElement) => {
    const { type, cast } = CASTS[columnType]
    return sql.fragment`${sql.binary(binaryArray(type, rows, toElement))}::${cast}`
  }
}

export const noRow = z.object({})

/**
 * A time in the format of the driver's parser (see driver.ts). PostgreSQL names a column after its ELSE. A column named like the
 * time itself would take over ORDER BY, which then uses no index.
 */
export function isoTime(time: FragmentSqlToken) {
  return sql.fragment`CASE WHEN ${time} < '0001-01-01Z' OR ${time} >= '10000-01-01Z' THEN (${time})::text
    ELSE to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END`
}
