import { pino } from 'pino'
import t from 'tap'
import { createNotices, type Judge } from '../../../src/service/app/notices.ts'

t.test(
  'what is wrong is logged when it begins and when it ends, and stays while it cannot be told',
  async (t) => {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line).msg) })
    const notice = (text: string) => ({ subject: 'the clock', text, remedy: 'set it' })
    let answer: Judge = async () => null
    const never: Judge = async () => {
      throw new Error('no answer')
    }
    const notices = createNotices([never, () => answer()], log)
    await notices.update()
    t.strictSame([notices.list(), lines], [[], []])
    answer = async () => notice('40 s off')
    await notices.update()
    answer = async () => notice('41 s off')
    await notices.update()
    t.strictSame([notices.list(), lines], [[notice('41 s off')], ['40 s off']])
    answer = never
    await notices.update()
    t.strictSame(notices.list(), [notice('41 s off')])
    answer = async () => null
    await notices.update()
    t.strictSame([notices.list(), lines], [[], ['40 s off', 'resolved: the clock']])
  },
)
