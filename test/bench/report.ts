/** The first values divided by the second, round by round: `0.93 (0.87–1.15)`. */
export function ratioOf(some: readonly number[], others: readonly number[]): string {
  return cellOf(
    some.map((value, round) => value / (others[round] ?? Number.NaN)),
    2,
  )
}

/** Median and, if they differ, minimum and maximum; a dash without finite values. */
export function cellOf(values: readonly number[], digits = 0): string {
  const sorted = values.filter(Number.isFinite).toSorted((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const median = (at(Math.floor((sorted.length - 1) / 2)) + at(Math.ceil((sorted.length - 1) / 2))) / 2
  if (Number.isNaN(median)) return '–'
  const [min, max] = [at(0), at(sorted.length - 1)]
  const text = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return min === max ? text(median) : `${text(median)} (${text(min)}–${text(max)})`
}

/** The value at this part of the sorted values. */
export function quantileOf(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1] ?? Number.NaN
}

/** Lines with aligned columns. */
export function tableOf(table: readonly (readonly string[])[]): string[] {
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table.map((row) =>
    row
      .map((text, column) =>
        column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart((widths[column] ?? 0) + 3),
      )
      .join('')
      .trimEnd(),
  )
}

/** A row of a table: its title, the value of each result, and the number of decimals. */
export type Row<Result> = readonly [title: string, of: (result: Result) => number, digits?: number]

/** A table with a column for each name, of the medians of its results. */
export function tableOfResults<Result>(
  heading: string,
  results: Readonly<Record<string, readonly Result[]>>,
  rows: readonly Row<NoInfer<Result>>[],
): string[] {
  return tableOf([
    [heading, ...Object.keys(results)],
    ...rows.map(([title, of, digits]) => [
      title,
      ...Object.values(results).map((all) => cellOf(all.map(of), digits)),
    ]),
  ])
}

/** Prints a report to standard output. The process exits 1 if there are faults. */
export function print(lines: readonly string[], faults: readonly string[] = []): void {
  process.stdout.write([...lines, ...faults.map((fault) => `WRONG: ${fault}`), ''].join('\n'))
  process.exitCode = faults.length === 0 ? 0 : 1
}
