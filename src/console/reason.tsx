import { Value } from './parts.tsx'
import { hrefOf } from './route.ts'

/** Why an entry is not SENT; it leads to all entries of the log with this reason, whatever follows its colon. */
export function Reason({ of: reason, words = reason }: { of: string | null; words?: string | null }) {
  if (reason === null) return <Value of={words} />
  return (
    <a
      class="plain-link"
      href={hrefOf(['log'], { reason: headOf(reason) })}
      title="All entries with this reason"
    >
      <Value of={words} />
    </a>
  )
}

/** What is counted as one reason. */
export function headOf(reason: string): string {
  return reason.split(':', 1)[0] ?? ''
}
