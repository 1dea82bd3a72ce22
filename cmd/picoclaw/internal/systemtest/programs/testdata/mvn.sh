mkdir -p src/main/java src/test/java
cat > pom.xml <<'X'
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>x</groupId>
  <artifactId>x</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
X
cat > settings.xml <<'X'
<settings>
  <mirrors>
    <mirror>
      <id>debian</id>
      <mirrorOf>*</mirrorOf>
      <url>file:///usr/share/maven-repo</url>
    </mirror>
  </mirrors>
</settings>
X
cat > src/main/java/A.java <<'J'
public class A {
	static int f() { return 1; }

	public static void main(String[] args) { System.out.println("java"); }
}
J
cat > src/test/java/ATest.java <<'J'
public class ATest {
	@org.junit.Test public void f() { org.junit.Assert.assertEquals(1, A.f()); }
}
J
mvn -B -o -c -s settings.xml -Daether.offline.protocols=file package >log 2>&1 || { grep -o 'Non-readable settings [^ :]*' log || cat log; exit 1; }
grep -q 'Tests run: 1, Failures: 0' log
java -cp target/x-1.jar A | grep -qx java
