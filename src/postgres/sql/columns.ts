import { type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { type ArrayElement, type ArrayType, binaryArray } from './binary-array.ts'

/** The type of the parameter, and its cast. A time is sent as text. */
const CASTS = {
  text: { type: 'text', cast: sql.fragment`text[]` },
  jsonb: { type: 'jsonb', cast: sql.fragment`jsonb[]` },
  int4: { type: 'int4', cast: sql.fragment`int4[]` },
  int8: { type: 'int8', cast: sql.fragment`int8[]` },
  timestamptz: { type: 'text', cast: sql.fragment`text[]::timestamptz[]` },
} as const satisfies Record<string, { type: ArrayType; cast: unknown }>

type ColumnType = keyof typeof CASTS

export function arrayOf(columnType: ColumnType, values: readonly ArrayElement[]) {
  return columnOf(values)(columnType, (value) => value)
}

/**
 * Turns rows into one array parameter a column, the shape that `unnest` takes: a statement costs the same however many
 * rows it has. Usage: `const column = columnOf(rows)`, then `${column('text', (row) => row.name)}`.
 */
export function columnOf<Row>(rows: readonly Row[]) {
  return (columnType: ColumnType, elementOf: (row: Row) => ArrayElement) => {
    const { type, cast } = CASTS[columnType]
    return sql.fragment`${sql.binary(binaryArray(type, rows, elementOf))}::${cast}`
  }
}

/** The row of a statement that returns none. */
export const noRow = z.object({})

/** A time as the driver's parser writes it (see pool.ts). */
export function isoTime(time: FragmentSqlToken) {
  return sql.fragment`to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
}
