import t from 'tap'
import { findByWords } from '../../../src/service/text/find-by-words.ts'

t.test(
  'names are found by their words, whatever separates them, and by a slip of the keyboard',
  async (t) => {
    const names = ['claim.paid', 'claim.rejected', 'no email on file', '…', 'old']
    const found = (text: string) => findByWords(text, names)
    t.strictSame(found('Claim'), ['claim.paid', 'claim.rejected'])
    t.strictSame(found('email file'), ['no email on file'])
    t.strictSame(found('claim_payd'), ['claim.paid'])
    t.strictSame(found('…'), ['…'])
    for (const text of ['ok', '%', ' ', 'claim.voided']) t.strictSame(found(text), [], text)
  },
)
