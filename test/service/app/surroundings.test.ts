import { pino } from 'pino'
import t from 'tap'
import { createSurroundings, type Look } from '../../../src/service/app/surroundings.ts'

t.test(
  'what is wrong is logged when it begins and when it ends, and stays while it cannot be told',
  async (t) => {
    const lines: string[] = []
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line).msg) })
    const notice = (text: string) => ({ subject: 'the clock', text, remedy: 'set it' })
    let answer: Look = async () => null
    const never: Look = async () => {
      throw new Error('no answer')
    }
    const surroundings = createSurroundings([never, () => answer()], log)
    await surroundings.look()
    t.same([surroundings.notices(), lines], [[], []])
    answer = async () => notice('40 s off')
    await surroundings.look()
    answer = async () => notice('41 s off')
    await surroundings.look()
    t.same([surroundings.notices(), lines], [[notice('41 s off')], ['40 s off']])
    answer = never
    await surroundings.look()
    t.same(surroundings.notices(), [notice('41 s off')])
    answer = async () => null
    await surroundings.look()
    t.same([surroundings.notices(), lines], [[], ['40 s off', 'right again: the clock']])
  },
)
