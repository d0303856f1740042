import type { ServiceStatus } from '../../service/model/service-status.ts'
import { counted } from './text.ts'
import { useData } from './use-data.ts'

/** An event that waits has no entry, by which anything would be found. */
export function Waiting() {
  const { waiting, isHeld } = useWaiting()
  if (!waiting) return null
  return (
    <p class="notice">
      {countWaiting(waiting)} and cannot be found yet{isHeld && ', and messages are held'}.
    </p>
  )
}

/** For a list about one member or claim: while messages are held it may lack the newest. The broker does not say about whom they are. */
export function MayLack({ what }: { what: string }) {
  const { waiting, isHeld } = useWaiting()
  if (!waiting || !isHeld) return null
  return (
    <p class="notice">
      {countWaiting(waiting)}, since messages are held: some may be about this {what}.
    </p>
  )
}

function useWaiting() {
  const { totals, holds = [] } = useData<ServiceStatus>(['status']).data ?? {}
  return { waiting: totals?.waiting, isHeld: holds.length > 0 }
}

const countWaiting = (waiting: number) => counted(waiting, 'event waits', 'events wait')
