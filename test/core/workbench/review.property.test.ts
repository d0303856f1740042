import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import { checkRuleFiles } from '../../../src/core/rules/check-files.ts'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { describeDiff } from '../../../src/core/rules/diff-text.ts'
import { COLUMNS } from '../../../src/core/rules/rule.ts'
import { createRuleTable } from '../../../src/core/rules/table.ts'
import { gridToCsv } from '../../../src/core/workbench/grid-to-csv.ts'
import { type Review, reviewCandidate } from '../../../src/core/workbench/review.ts'
import { readGrid } from '../../../src/core/workbench/workbench.ts'
import { applying, csvOf, isSafe, tables } from '../rules/random-tables.ts'

const RUN_COUNT = 10

const read = (name: string) => readFile(new URL(`../../../rules/${name}`, import.meta.url), 'utf8')
const [shipped, promises] = await Promise.all([read('dispatch.csv'), read('promises.csv')])
const tableOf = (csvText: string) => createRuleTable(csvText, [], () => '')
/** Tables that can be used. */
const servable = tables.filter(isSafe).map(applying)
const inForce = await tableOf(shipped)

t.test(
  `${RUN_COUNT} tables: what the grid saves is reviewed as the commands check and compare what was pasted`,
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(tables, servable), async (rows) => {
        const pasted = csvOf(rows)
        const { grid } = readGrid(pasted, COLUMNS, 'rule')
        if (grid === null) throw new Error('it cannot be a grid')
        const review = await reviewCandidate(
          { table: gridToCsv(grid), promises },
          { ruleTable: inForce, promises },
          [],
          tableOf,
        )
        const checked = await checkRuleFiles(pasted, promises, [])
        t.same(
          review.table.faults.map(({ text }) => text),
          checked.table.faults.slice(0, 200).map(withoutPlace),
        )
        t.equal(review.promises.summary, checked.promises.summary)
        const lines = await tableOf(pasted).then(
          (table) => describeDiff(diffRuleTables(inForce, table)),
          () => null,
        )
        t.same(review.diff && linesOf(review.diff), lines)
      }),
      { numRuns: RUN_COUNT },
    )
  },
)

function withoutPlace(fault: string): string {
  return fault.replace(/^row \d+(, column "[^"]+")?:? /, '')
}

/** As `rules diff` prints it. */
function linesOf({ summary, groups, rest }: NonNullable<Review['diff']>): string[] {
  return [
    summary,
    ...groups.flatMap(({ sentences }) =>
      sentences.flatMap(({ sentence, situations }) => [
        `${sentence}:`,
        ...situations.map((situation) => `    ${situation}`),
      ]),
    ),
    ...rest,
  ]
}
