import t from 'tap'
import { findFaults } from '../../../src/authoring/check/find-faults.ts'
import { enumerate } from '../../../src/service/decide/rules/first-match.ts'
import { loadRuleTable } from '../../../src/service/decide/rules/load-table.ts'
import { describeFault } from '../../../src/service/text/faults.ts'
import fc from '../../stack/properties.ts'
import { table } from '../build.ts'
import { type Row, tables } from '../random-tables.ts'

const NEVER = /^row \d+: rule "(\w+)" can never apply: .*: move it (above .*), or delete it$/
const PLACE =
  /above row \d+ \("(\w+)"\) for (all it describes \()?(\d+)(?: cases?\)| of the \d+ cases?)((?:, which leaves nothing to [^,]*)?)/g

const enumerated = async (rows: readonly Row[]) => enumerate(loadRuleTable(table(...rows)), [])
const faultsOf = async (rows: readonly Row[]) => findFaults(await enumerated(rows)).map(describeFault)

t.test('a rule that never applies, moved as proposed, decides as many cases as promised', async (t) => {
  let followed = 0
  await fc.assert(
    fc.asyncProperty(tables, async (rows) => {
      const { rules, answers } = await enumerated(rows)
      const before = rules
        .filter((rule) => answers.some((answer) => answer.rule === rule))
        .map(({ id }) => id)
      for (const fault of await faultsOf(rows)) {
        const [, id, places = ''] = NEVER.exec(fault) ?? []
        for (const [, taker, , promised, rest = ''] of places.matchAll(PLACE)) {
          const row = rows.find(({ rule }) => rule === id) as Row
          const others = rows.filter((one) => one !== row)
          const moved = others.toSpliced(
            others.findIndex(({ rule }) => rule === taker),
            0,
            row,
          )
          const { answers } = await enumerated(moved)
          const decided = answers.filter(({ rule }) => rule?.id === id).length
          if (decided !== Number(promised)) throw new Error(`${decided} instead of ${promised}: ${fault}`)
          const isAlive = (id: string) => answers.some(({ rule }) => rule?.id === id)
          const lost = before.filter((id) => !isAlive(id)).map((id) => `"${id}"`)
          if ((/leaves nothing to (.*)/.exec(rest)?.[1] ?? '') !== lost.join(' and '))
            throw new Error(`${fault}; lost: ${lost}`)
          followed++
        }
      }
    }),
    { numRuns: 100 },
  )
  t.comment(`${followed} places`)
  t.ok(followed > 0)
})
