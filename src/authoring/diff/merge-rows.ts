import { type Cells, pairRows } from './diff-rows.ts'

/** The merged rows, and each cell that both people changed: `mine` wins there. */
export interface MergeResult {
  readonly rows: readonly Cells[]
  readonly conflicts: readonly string[]
}

/** Merges `theirs` into `mine`; both started from `base`. The order is that of the side that moved rows, else of `theirs`. */
export function mergeRows(
  columns: readonly string[],
  base: readonly Cells[],
  mine: readonly Cells[],
  theirs: readonly Cells[],
): MergeResult {
  const conflicts: string[] = []
  const ofMine = pairRows(base, mine)
  const ofTheirs = pairRows(base, theirs)
  const isFrameMine = isMoved(base, mine, ofMine)
  const [frame, ofFrame, other, ofOther] = isFrameMine
    ? [mine, ofMine, theirs, ofTheirs]
    : [theirs, ofTheirs, mine, ofMine]
  const baseOf = new Map([...ofFrame].map(([row, now]) => [now, row]))
  const baseOfOther = new Map([...ofOther].map(([row, now]) => [now, row]))
  /** The merged row for each row of either side. */
  const merged = new Map<Cells, Cells>()
  const rows: Cells[] = []

  const addConflict = ([name]: Cells) =>
    conflicts.push(`"${name}" was deleted by one and changed by the other: it is kept`)
  for (const row of frame) {
    const origin = baseOf.get(row)
    const twin = origin === undefined ? added(row, other, baseOfOther) : ofOther.get(origin)
    if (origin !== undefined && twin === undefined) {
      if (isSame(row, origin)) continue
      addConflict(row)
    }
    const [own, others] = isFrameMine ? [row, twin] : [twin, row]
    const result =
      own === undefined || others === undefined ? row : mergeCells(columns, origin, own, others, conflicts)
    rows.push(result)
    merged.set(row, result)
    if (twin !== undefined) merged.set(twin, result)
  }
  for (const [index, row] of other.entries()) {
    const origin = baseOfOther.get(row)
    if (merged.has(row) || (origin !== undefined && isSame(row, origin))) continue
    if (origin !== undefined) addConflict(row)
    const above = other.slice(0, index).findLast((one) => merged.has(one))
    rows.splice(above === undefined ? 0 : rows.indexOf(merged.get(above) as Cells) + 1, 0, row)
    merged.set(row, row)
  }
  return { rows, conflicts }
}

/** The row that the other side added under the same name. */
function added([name]: Cells, other: readonly Cells[], baseOf: ReadonlyMap<Cells, Cells>): Cells | undefined {
  return other.find((row) => !baseOf.has(row) && row[0] === name)
}

function mergeCells(
  columns: readonly string[],
  origin: Cells | undefined,
  own: Cells,
  others: Cells,
  conflicts: string[],
): Cells {
  return own.map((cell, at) => {
    const theirs = others[at] ?? ''
    if (cell === theirs || theirs === origin?.[at]) return cell
    if (cell === origin?.[at]) return theirs
    conflicts.push(`"${own[0]}", ${columns[at]}: "${cell}" is yours, "${theirs}" is in force`)
    return cell
  })
}

/** True if rows are in another order than before. */
function isMoved(base: readonly Cells[], now: readonly Cells[], pairs: ReadonlyMap<Cells, Cells>): boolean {
  const places = base.flatMap((row) => (pairs.has(row) ? [now.indexOf(pairs.get(row) as Cells)] : []))
  return places.some((place, index) => place < (places[index - 1] ?? 0))
}

function isSame(one: Cells, other: Cells): boolean {
  return one.every((cell, at) => cell === other[at])
}
