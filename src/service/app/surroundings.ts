import type { Logger } from 'pino'
import type { Notice } from '../model/service-status.ts'

/** Something that may be wrong around the process. Resolves to null if it is right; rejects if that cannot be told now. */
export type Look = () => Promise<Notice | null>

/** Looks at what must not stop the service, but needs somebody: logs when it begins and when it ends. */
export function createSurroundings(looks: readonly Look[], log: Logger) {
  const found: (Notice | null)[] = looks.map(() => null)

  async function look(index: number, judge: Look): Promise<void> {
    const before = found[index]
    const notice = await judge()
    found[index] = notice
    if (notice !== null && before?.subject !== notice.subject)
      log.warn({ remedy: notice.remedy }, notice.text)
    if (before && notice === null) log.info(`right again: ${before.subject}`)
  }

  return {
    /** A notice that cannot be judged now stays as it was. */
    look: async (): Promise<void> => {
      await Promise.allSettled(looks.map((judge, index) => look(index, judge)))
    },
    notices: (): readonly Notice[] => found.filter((notice) => notice !== null),
  }
}
