import { Engine, type RuleProperties } from 'json-rules-engine'
import type { Facts } from '../decision/facts.ts'
import { type EventTypeCell, matchesEventType } from './event-type-cell.ts'
import type { Rule } from './rule.ts'

type Condition = { fact: string; path?: string; operator: string; value: unknown }

/** The engine emits this name; a rule id could be `error` or `success`, which mean something to an emitter. */
const MATCHED = 'rule matched'

/**
 * Compiles rules to json-rules-engine: the first that matches wins. The function returned must not be called again
 * before its promise has settled: the engine keeps the state of a run on itself.
 */
export function compileRules(rules: readonly Rule[]): (facts: Facts) => Promise<Rule | null> {
  const cells = new Map<string, EventTypeCell>()
  for (const { when } of rules) if (when.eventType !== null) cells.set(when.eventType.text, when.eventType)

  const engine = new Engine([], { pathResolver: ownProperty })
  engine.addOperator('matches', (eventType: string, cellText: string) =>
    matchesEventType(cells.get(cellText) as EventTypeCell, eventType),
  )
  for (const [index, rule] of rules.entries())
    engine.addRule(ruleProperties(rule, index, rules.length - index))
  // stop() cannot stop rules of the same priority, so no two share one. Rules below the match need not run.
  engine.on('success', () => {
    engine.stop()
  })

  return async (facts) => {
    const { events } = await engine.run({
      eventType: facts.eventType,
      party: facts.party,
      preferences: { optedOut: facts.optedOut, channel: facts.preferredChannel },
      contact: { email: facts.emailOnFile, phone: facts.phoneOnFile },
    })
    const index: number | undefined = events[0]?.params?.index
    return index === undefined ? null : (rules[index] as Rule)
  }
}

function ruleProperties(rule: Rule, index: number, priority: number): RuleProperties {
  return {
    name: rule.id,
    priority,
    conditions: { all: conditions(rule) },
    event: { type: MATCHED, params: { index } },
  }
}

/** Only of cells that are not blank. The engine checks nothing by itself: these are right by construction. */
function conditions({ when }: Rule): Condition[] {
  const all: Condition[] = [
    { fact: 'eventType', operator: 'matches', value: when.eventType?.text ?? null },
    { fact: 'party', operator: 'equal', value: when.party },
    { fact: 'preferences', path: 'optedOut', operator: 'equal', value: when.optedOut },
    { fact: 'preferences', path: 'channel', operator: 'equal', value: when.preferredChannel },
    { fact: 'contact', path: 'email', operator: 'equal', value: when.emailOnFile },
    { fact: 'contact', path: 'phone', operator: 'equal', value: when.phoneOnFile },
  ]
  return all.filter(({ value }) => value !== null)
}

/** Instead of the engine's JSONPath, which costs four times as much. */
function ownProperty(value: object, path: string): unknown {
  return Object.hasOwn(value, path) ? (value as Record<string, unknown>)[path] : undefined
}
