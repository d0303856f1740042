import { sql } from 'slonik'

/**
 * Turns rows into one array parameter a column, the shape that `unnest` takes: a statement costs the same however many
 * rows it has. Usage: `const column = columnOf(rows)`, then `${column('text', (row) => row.name)}`.
 */
export function columnOf<Row>(rows: readonly Row[]) {
  return (type: string, of: (row: Row) => string | number | bigint | null | Buffer) =>
    sql.array(rows.map(of), type)
}
