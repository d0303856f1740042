import { type FragmentSqlToken, sql } from 'slonik'

/** A page ends with the row that exceeds this size: its texts are in memory several times over until they are sent or written. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024

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

/** Bytes of columns of type text or bytea. Large values are not read for it. */
export function textBytes(...columns: readonly FragmentSqlToken[]) {
  return sum(columns.map((column) => sql.fragment`coalesce(octet_length(${column}), 0)::bigint`))
}

/**
 * Upper limit for the bytes of columns of type jsonb. Large values are not read for it, so that a compressed one (above 2 kB)
 * counts as compressed as its method can.
 */
export function jsonBytes(...columns: readonly FragmentSqlToken[]) {
  return sum(
    columns.map(
      (column) => sql.fragment`coalesce(pg_column_size(${column}), 0)::bigint *
        CASE pg_column_compression(${column}) WHEN 'pglz' THEN 90 WHEN 'lz4' THEN 255 ELSE 1 END`,
    ),
  )
}

function sum(terms: readonly FragmentSqlToken[]) {
  return sql.fragment`(${sql.join(terms, sql.fragment` + `)})`
}
