import type { Logger } from 'pino'
import type { Notice } from '../model/service-status.ts'

/** Something that may be wrong around the process. Resolves to null if it is right; rejects if that cannot be told now. */
export type Judge = () => Promise<Notice | null>

/** Notices of what must not stop the service, but needs somebody: each is logged when it begins and when it ends. */
export function createNotices(judges: readonly Judge[], log: Logger) {
  const found: (Notice | null)[] = judges.map(() => null)

  async function update(index: number, judge: Judge): Promise<void> {
    const before = found[index]
    const notice = await judge()
    found[index] = notice
    if (notice !== null && before?.subject !== notice.subject)
      log.warn({ remedy: notice.remedy }, notice.text)
    if (before && notice === null) log.info(`resolved: ${before.subject}`)
  }

  return {
    /** A notice that cannot be judged now stays as it was. */
    update: async (): Promise<void> => {
      await Promise.allSettled(judges.map((judge, index) => update(index, judge)))
    },
    list: (): readonly Notice[] => found.filter((notice) => notice !== null),
  }
}
