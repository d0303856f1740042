import { readFileSync } from 'node:fs'
import { enumerate } from '../core/rules/first-match.ts'
import { loadRuleTable } from '../core/rules/load-table.ts'
import { acceptedEventTypes, compareOutcomes, listOutcomes } from '../core/rules/outcomes.ts'
import { templates } from '../generated/templates.ts'

/*
 * A step of `make check`: node src/build/check-rules.ts
 * Exits 1 if outcomes of the rule table were not accepted, if an accepted event type has neither a text nor a rule any more, or
 * if an alert names a rule that the table does not have.
 */
const eventTypes = [...templates.byEventType.keys()]
const { rules } = loadRuleTable(read('rules/dispatch.csv'), eventTypes)
const actual = listOutcomes(await enumerate(rules, eventTypes), eventTypes)
const accepted = read('rules/outcomes.txt')
const { gone, fresh } = compareOutcomes(accepted, actual)
const notAccepted = [...gone.map((line) => `- ${line}`), ...fresh.map((line) => `+ ${line}`)]
if (notAccepted.length > 0)
  fail(
    `rules/outcomes.txt: these outcomes are not accepted: run make rules-accept\n${notAccepted.join('\n')}`,
  )
const listed = new Set(acceptedEventTypes(actual))
for (const eventType of acceptedEventTypes(accepted).filter((name) => !listed.has(name)))
  fail(
    `rules/outcomes.txt lists ${eventType}, which has neither a text nor a rule: restore templates/${eventType}.mustache, or run make rules-accept`,
  )

const alerts = 'src/telemetry/alerts.yaml'
const named = new Set([...read(alerts).matchAll(/\brule="([^"]+)"/g)].map(([, rule]) => rule))
for (const { id } of rules) named.delete(id)
for (const rule of named)
  fail(`${alerts} names the rule "${rule}", which rules/dispatch.csv does not have: change one of them`)

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
}

function fail(fault: string): void {
  process.stderr.write(`${fault}\n`)
  process.exitCode = 1
}
