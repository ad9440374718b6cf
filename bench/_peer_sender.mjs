// Sends to twenty groups through baileys-antiban, as its README says, until it is killed.
//
// The socket below is all that it needs of a WhatsApp client: a line on standard output is a message that was sent.
// The state that the package can keep over a restart, its warm-up, is saved after each message and loaded at the start.

import path from 'node:path';
import { pathToFileURL } from 'node:url';

const GROUPS = 20;
const [packageFolder, stateFolder, first] = process.argv.slice(2);
const { wrapSocket, FileStateAdapter } = await import(pathToFileURL(path.join(packageFolder, 'dist/index.js')).href);

const socket = {
  ev: { process() {} },
  async sendMessage(group) {
    process.stdout.write(group + '\n');
    return { key: { id: group } };
  },
};
const adapter = new FileStateAdapter(stateFolder);
const state = (await adapter.load('warmup')) ?? undefined;
const sender = wrapSocket(socket, { logging: false }, state);
for (let number = Number(first); ; number++) {
  await sender.sendMessage(`${number % GROUPS}@g.us`, { text: `Good morning, this is message ${number}` });
  await adapter.save('warmup', sender.antiban.exportWarmUpState());
}
