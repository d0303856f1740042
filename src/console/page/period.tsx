import { Button, Field, filledIn, Problem } from './parts.tsx'
import { formatDay } from './text.ts'
import type { useRun } from './use-run.ts'

/** Instants in ISO 8601. */
export interface Period {
  readonly from: string
  readonly to: string
}

/** From the start to the end of the suggested period. */
const WEEK_MS = 6 * 86_400_000

interface PeriodFormProps {
  readonly verb: string
  readonly run: ReturnType<typeof useRun>
  /** The reason why the period cannot be requested, or null. */
  readonly refusal: string | null
  readonly onPeriod: (period: Period) => void
}

/** Asks for a period of whole days, the last seven at first. */
export function PeriodForm({ verb, run: { progress, problem, stop }, refusal, onPeriod }: PeriodFormProps) {
  const isRunning = progress !== null
  const submit = (event: SubmitEvent) => {
    const { from, to } = filledIn(event)
    if (isRunning || refusal !== null) return
    onPeriod({ from: new Date(`${from}T00:00`).toISOString(), to: new Date(`${to}T24:00`).toISOString() })
  }
  return (
    <>
      <form class="hstack period" onSubmit={submit}>
        <Field
          label="From"
          name="from"
          type="date"
          required
          defaultValue={formatDay(new Date(Date.now() - WEEK_MS))}
        />
        <Field label="To" name="to" type="date" required defaultValue={formatDay(new Date())} />
        <button type="submit" aria-disabled={isRunning || refusal !== null}>
          {verb}
        </button>
        {isRunning && <Button onClick={stop}>Stop</Button>}
        <span role="status">{refusal ?? progress}</span>
      </form>
      <Problem problem={problem} />
    </>
  )
}
