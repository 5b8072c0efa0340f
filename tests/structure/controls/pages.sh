put README.md './run demo' './run test' 'then ./run bench and ./run fly'
flags README.md:1 "a command that does not exist"
put README.md './run demo' './run test' '[page](docs/nowhere.md)'
flags README.md:1 "a dead link"
put README.md './run test'
flags README.md:1 "a README without the demo"
put docs/testing.md 'see [the README](../README.md) and ./run bench'
accepts "links and commands from docs"
