import { didYouMean, nearest } from '../text/nearest.ts'
import type { Rule } from './rule.ts'

/**
 * Event types that rules name and that no template is for: each may well be meant so, or be misspelt. One sentence
 * each, with row, column, value and the nearest one that there is a template for.
 */
export function findUnknownEventTypes(rules: readonly Rule[], knownEventTypes: readonly string[]): string[] {
  const families = [...new Set(knownEventTypes.map((name) => `${name.slice(0, name.indexOf('.'))}.*`))]
  return rules.flatMap(({ row, when }) => {
    const { names, prefixes } = when.eventType ?? { names: [], prefixes: [] }
    const warn = (value: string, choices: readonly string[]) =>
      `row ${row}, column "event type": there is no template for "${value}"${didYouMean(nearest(value, choices))}`
    return [
      ...names.filter((name) => !knownEventTypes.includes(name)).map((name) => warn(name, knownEventTypes)),
      ...prefixes
        .filter((prefix) => !knownEventTypes.some((name) => name.startsWith(prefix)))
        .map((prefix) => warn(`${prefix}*`, families)),
    ]
  })
}
