import { render } from 'preact'
import '@knadh/oat/css/00-base.css'
import '@knadh/oat/css/01-theme.css'
import '@knadh/oat/css/button.css'
import '@knadh/oat/css/form.css'
import '@knadh/oat/css/table.css'
import '@knadh/oat/css/card.css'
import '@knadh/oat/css/badge.css'
import { App } from './app.tsx'
import './style.css'

render(<App />, document.getElementById('root') as HTMLElement)
