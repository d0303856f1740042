// One process for the whole workbench: each file alone would start a browser and a database of its own.
import './workbench/back-test.ts'
import './workbench/files.ts'
import './workbench/grid.ts'
import './workbench/keyboard.ts'
import './workbench/merge.ts'
import './workbench/promises.ts'
import './workbench/rules.ts'
import './workbench/texts.ts'
