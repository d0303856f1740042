import t from 'tap'
import { findByWords } from '../../../src/service/text/find-by-words.ts'

t.test(
  'names are found by their words, whatever separates them, and by a slip of the keyboard',
  async (t) => {
    const names = ['claim.paid', 'claim.rejected', 'no email on file', '…', 'old']
    const found = (text: string) => findByWords(text, names)
    t.same(found('Claim'), ['claim.paid', 'claim.rejected'])
    t.same(found('email file'), ['no email on file'])
    t.same(found('claim_payd'), ['claim.paid'])
    t.same(found('…'), ['…'])
    for (const text of ['ok', '%', ' ', 'claim.voided']) t.same(found(text), [], text)
  },
)
