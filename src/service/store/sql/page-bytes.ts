import { type FragmentSqlToken, sql } from 'slonik'

/** A page ends with the row that exceeds this size, since its texts are in memory several times over until they are sent or written. */
export const PAGE_BYTES_MAX = 2 * 1024 * 1024

/**
 * The first of these rows, in their order, up to `PAGE_BYTES_MAX`; at least one. Adds the column `found`, the number of all rows:
 * if a page has fewer, the rest belongs to the next one.
 *
 * @param bytes size of a row, see `textBytes` and `jsonBytes`
 */
export function withinBytes(rows: FragmentSqlToken, order: FragmentSqlToken, bytes: FragmentSqlToken) {
  return sql.fragment`
    SELECT * FROM (
      SELECT *, count(*) OVER ()::integer AS found,
        sum(${bytes}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
      FROM (${rows}) AS found_row
    ) AS sized_row
    WHERE coalesce(bytes_before, 0) < ${PAGE_BYTES_MAX}`
}

/** Bytes of columns of type text or bytea, determined without reading large values. */
export function textBytes(...columns: readonly FragmentSqlToken[]) {
  return sum(columns.map((column) => sql.fragment`coalesce(octet_length(${column}), 0)::bigint`))
}

/** Size up to which a compressed value is stored in its row, and read to measure its length. */
const INLINE_BYTES_MAX = 2_000

/** Bytes of columns of type jsonb, estimated without reading large values: a compressed one counts at its method's best ratio. */
export function jsonBytes(...columns: readonly FragmentSqlToken[]) {
  return sum(
    columns.map(
      (column) => sql.fragment`coalesce(
        CASE
          WHEN pg_column_compression(${column}) IS NULL THEN pg_column_size(${column})::bigint
          WHEN pg_column_size(${column}) <= ${INLINE_BYTES_MAX} THEN octet_length(${column}::text)
          ELSE pg_column_size(${column}) * CASE pg_column_compression(${column}) WHEN 'lz4' THEN 255::bigint ELSE 90 END
        END, 0)`,
    ),
  )
}

function sum(terms: readonly FragmentSqlToken[]) {
  return sql.fragment`(${sql.join(terms, sql.fragment` + `)})`
}
