import type { RuleTableDiff } from './diff.ts'
import { describeRest, groupChanges, summariseDiff } from './diff-text.ts'

/** More situations than these are folded away, each kind of change by itself. */
const SHOWN_COUNT_MAX = 12

/** The diff in sentences, for a pull request. */
export function diffToMarkdown(diff: RuleTableDiff): string {
  const folded = diff.changes.length > SHOWN_COUNT_MAX
  const groups = groupChanges(diff).map(({ sentence, situations }) => {
    const list = situations.map((situation) => `- ${literal(situation)}`).join('\n')
    return folded
      ? `<details><summary>${literal(sentence)}</summary>\n\n${list}\n\n</details>`
      : `${literal(sentence)}:\n\n${list}`
  })
  const rest = describeRest(diff).map((line) => `- ${literal(line)}`)
  const parts = [
    `### Rule table: ${summariseDiff(diff)}`,
    ...groups,
    ...(rest.length > 0 ? [rest.join('\n')] : []),
  ]
  return `${parts.join('\n\n')}\n`
}

/** Escapes text from the table, so that it is neither Markdown nor HTML and mentions nobody by @name. */
function literal(text: string): string {
  return text.replace(/[\\`*[\]<>&|~@#]/g, (character) => `&#${character.charCodeAt(0)};`)
}
