import mustache from 'mustache'
import type { Variables } from './template.ts'

/** Renders by the library itself, as plain text: what our compiled templates render must be the same. */
export function renderByMustache(template: string, variables: Variables): string {
  return mustache.render(template, variables, {}, { escape: String })
}
