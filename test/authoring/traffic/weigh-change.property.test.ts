import t from 'tap'
import { createBacktest } from '../../../src/authoring/back-test/decide-groups.ts'
import { diffRuleTables } from '../../../src/authoring/diff/compare-tables.ts'
import { formatTraffic, readTraffic, type Traffic } from '../../../src/authoring/traffic/traffic-sheet.ts'
import { weighChange } from '../../../src/authoring/traffic/weigh-change.ts'
import fc from '../../stack/properties.ts'
import { table } from '../build.ts'
import { createTable } from '../default-table.ts'
import { ALL_CASES, applying, isSafe, tables } from '../random-tables.ts'

const servable = tables
  .filter(isSafe)
  .map(applying)
  .map((rows) => createTable(table(...rows)))
const groups = fc.uniqueArray(
  fc.record({
    facts: fc.constantFrom(...ALL_CASES.filter(({ eventType }) => eventType !== '')),
    count: fc.integer({ min: 1, max: 10 ** 9 }),
  }),
  { maxLength: 60, selector: ({ facts }) => JSON.stringify(facts) },
)
const traffics: fc.Arbitrary<Traffic> = fc.record({
  firstDay: fc.constant('2026-10-29'),
  lastDay: fc.constant('2026-11-27'),
  groups,
  restCount: fc.nat(),
})

t.test('a sheet of random traffic is read as it was written, in any spreadsheet', async () => {
  fc.assert(
    fc.property(traffics, fc.constantFrom(',', ';'), (traffic, separator) => {
      const { traffic: read, faults } = readTraffic(formatTraffic(traffic).replaceAll(',', separator))
      if (JSON.stringify([read, faults]) !== JSON.stringify([traffic, []]))
        throw new Error(JSON.stringify(faults))
    }),
  )
})

t.test('random changes concern as many events as by a back-test on the same decisions', async (t) => {
  let changed = 0
  await fc.assert(
    fc.asyncProperty(servable, servable, traffics, async (creating, creatingOther, traffic) => {
      const [before, after] = await Promise.all([creating, creatingOther])
      const test = createBacktest(after, (_, id) => before.rules.find((rule) => rule.id === id)?.reason)
      for (const { facts, count } of traffic.groups) {
        const { ruleId, outcome, channel } = before.decide(facts)
        const recorded = {
          id: '',
          earlier: [],
          onRequest: false,
          ruleTableRevision: '',
          isPartyInvalid: false,
          locators: [],
        }
        test.add({ ...recorded, facts, ruleId, outcome, channel, count })
      }
      const diff = diffRuleTables(before, after)
      const effect = weighChange(before, after, { diff, promises: [], wallMs: 0 }, traffic)
      const counts = effect.changes.map((line) => Number(line.split(' ')[0]?.replaceAll(',', '')))
      const sum = counts.reduce((total, count) => total + count, 0)
      const { changed: expected } = test.result()
      if (sum !== expected) throw new Error(`${sum} instead of ${expected}`)
      if (expected > 0) changed++
    }),
    { numRuns: 50 },
  )
  t.ok(changed > 0)
})
