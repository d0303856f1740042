import { sql } from 'slonik'
import type { Origin } from '../../decide/decision/recorded-decision.ts'
import type { sqlColumns } from './columns.ts'

/** The columns of `decision` that hold a message's origin, with the type of each. */
const COLUMNS = {
  topic: ['text', sql.fragment`topic`],
  partition: ['int4', sql.fragment`partition_id`],
  offset: ['int8', sql.fragment`"offset"`],
  traceId: ['text', sql.fragment`trace_id`],
  envelopeMapRevision: ['text', sql.fragment`envelope_map_revision`],
} as const satisfies { readonly [Key in keyof Origin]: unknown }
const LIST = Object.entries(COLUMNS) as [keyof Origin, (typeof COLUMNS)[keyof Origin]][]

const COMMA = sql.fragment`, `
export const ORIGIN_NAMES = sql.join(
  LIST.map(([, [, name]]) => name),
  COMMA,
)
export const ORIGIN_COLUMNS = sql.join(
  LIST.map(([key, [, name]]) => sql.fragment`${name} AS ${sql.identifier([key])}`),
  COMMA,
)
/** For `json_build_object`: offsets outgrow a JSON number. */
export const ORIGIN_IN_JSON = sql.join(
  LIST.map(
    ([key, [type, name]]) =>
      sql.fragment`${sql.literalValue(key)}, ${name}${type === 'int8' ? sql.fragment`::text` : sql.fragment``}`,
  ),
  COMMA,
)

/** The arrays of the origins of rows, in the order of `ORIGIN_NAMES`. */
export function originArrays(column: ReturnType<typeof sqlColumns<{ readonly origin: Origin }>>) {
  return sql.join(
    LIST.map(([key, [type]]) => column(type, ({ origin }) => origin[key])),
    COMMA,
  )
}
