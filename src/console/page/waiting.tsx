import type { ServiceStatus } from '../../service/model/service-status.ts'
import { buildHref } from './route.ts'
import { counted } from './text.ts'
import { useData } from './use-data.ts'

/** An event that waits or could not be read has no entry, so no search finds it. */
export function Waiting() {
  const { waiting, rejected, isHeld } = useWaiting()
  return (
    <>
      {waiting ? (
        <p class="notice">
          {countWaiting(waiting)} and cannot be found yet{isHeld && ', and messages are held'}.
        </p>
      ) : null}
      {rejected ? (
        <p class="notice">
          <a href={buildHref(['rejected'])}>{counted(rejected, 'message', 'messages')} could not be read</a>:
          what they are about cannot be found either.
        </p>
      ) : null}
    </>
  )
}

/**
 * A note for a list about one member or claim: it may lack the newest entries while messages are held or a partition is blocked.
 * Nobody knows yet whom waiting events concern.
 */
export function MayLack({ what }: { what: string }) {
  const { held, isHeld, stopped } = useWaiting()
  const count = isHeld ? held : stopped
  if (!count) return null
  return (
    <p class="notice">
      {countWaiting(count)}, since {isHeld ? 'messages are held' : 'a partition is blocked'}: some may be
      about this {what}.
    </p>
  )
}

const EVERY_MS = 5_000

function useWaiting() {
  const { totals, holds = [], blocked = [] } = useData<ServiceStatus>(['status'], {}, EVERY_MS).data ?? {}
  const sum = (parts: readonly { readonly waiting?: number | null | undefined }[]) =>
    parts.reduce((total, part) => total + (part.waiting ?? 0), 0)
  const ofAll = holds.find(({ topics }) => topics === null)
  return {
    waiting: totals?.waiting,
    rejected: totals?.rejected,
    isHeld: holds.length > 0,
    held: sum(ofAll === undefined ? holds : [ofAll]),
    stopped: sum(blocked),
  }
}

const countWaiting = (waiting: number) => counted(waiting, 'event waits', 'events wait')
